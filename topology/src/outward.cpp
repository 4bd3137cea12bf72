#include "outward.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace corewise::detail {
namespace {

/// Sorts by a key of one byte: one stable pass of a radix sort. A comparison sort of each group's order would
/// take longer than the discovery of a machine with a thousand groups.
template <class Key>
void sort_by_byte(std::vector<group_id>& order, std::vector<group_id>& scratch, const Key& key) {
  std::array<std::uint32_t, 257> place{};
  for (const group_id g : order) ++place[key(g) + 1U];
  std::partial_sum(place.begin(), place.end(), place.begin());
  for (const group_id g : order) scratch[place[key(g)]++] = g;
  order.swap(scratch);
}

std::vector<group_id> from_here_round(group_id from, std::size_t count) {
  std::vector<group_id> order(count);
  for (std::size_t i = 0; i < count; ++i) order[i] = {static_cast<std::uint32_t>((from.value + i) % count)};
  return order;
}

} // namespace

level level_of(const locality_group& a, const locality_group& b) noexcept {
  if (a.id == b.id) return level::same_group;
  if (a.domain == b.domain) return level::same_domain;
  if (a.node && a.node == b.node) return level::same_node;
  if (a.package == b.package) return level::same_package; // two unknown packages count as one
  return level::cross_package;
}

std::vector<group_id> outward_order(group_id from, std::span<const level> levels,
                                    std::span<const std::uint32_t> distances) {
  std::vector<group_id> order = from_here_round(from, levels.size());
  std::vector<group_id> scratch(order.size());
  const std::uint32_t farthest = *std::ranges::max_element(distances);
  for (unsigned shift = 0; shift < 32 && (farthest >> shift) != 0; shift += 8)
    sort_by_byte(order, scratch, [&](group_id g) { return (distances[g.value] >> shift) & 0xFFU; });
  sort_by_byte(order, scratch, [&](group_id g) { return static_cast<std::uint32_t>(levels[g.value]); });
  return order;
}

} // namespace corewise::detail
