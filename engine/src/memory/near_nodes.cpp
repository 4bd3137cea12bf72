#include "memory/near_nodes.hpp"

#include <algorithm>

namespace corewise::detail {

near_nodes::near_nodes(const topology& machine, const locality_groups& groups, const worker_layout& layout) {
  std::vector<std::uint32_t> with_workers;
  for (const locality_group& g : groups.groups())
    if (g.node && !layout.of_group(g.id).empty()) with_workers.push_back(*g.node);
  if (with_workers.empty()) return;
  std::ranges::sort(with_workers);
  for (std::uint32_t n = 0; n < machine.nodes().size(); ++n) {
    const auto distance = [&](std::uint32_t other) { return other == n ? 0 : machine.distance(n, other); };
    nodes_.push_back({machine.nodes()[n].os_index, *std::ranges::min_element(with_workers, {}, distance)});
  }
}

std::optional<std::uint32_t> near_nodes::standing_for(std::uint32_t os_index) const noexcept {
  const auto at = std::ranges::lower_bound(nodes_, os_index, {}, &node::os_index);
  if (at == nodes_.end() || at->os_index != os_index) return std::nullopt;
  return at->nearest;
}

} // namespace corewise::detail
