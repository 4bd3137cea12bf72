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

std::vector<std::optional<std::uint32_t>> memory_nodes(const topology& machine, const locality_groups& groups,
                                                       const cpu_set& with_memory) {
  const auto& nodes = machine.nodes();
  const auto nearest = [&](std::uint32_t home) -> std::optional<std::uint32_t> {
    if (with_memory.empty() || with_memory.contains(nodes[home].os_index)) return nodes[home].os_index;
    std::optional<std::uint32_t> best;
    for (std::uint32_t n = 0; n < nodes.size(); ++n)
      if (with_memory.contains(nodes[n].os_index) &&
          (!best || machine.distance(home, n) < machine.distance(home, *best)))
        best = n;
    if (best) return nodes[*best].os_index;
    return std::nullopt;
  };
  std::vector<std::optional<std::uint32_t>> of_groups;
  for (const locality_group& g : groups.groups())
    of_groups.push_back(g.node ? nearest(*g.node) : std::nullopt);
  return of_groups;
}

cpu_set nodes_with_memory(const topology& machine) {
  cpu_set with_memory;
  for (const numa_node& n : machine.nodes())
    if (n.memory_bytes != 0) with_memory.insert(n.os_index);
  return with_memory;
}

} // namespace corewise::detail
