#include "neighbourhood.hpp"

#include <algorithm>
#include <compare>
#include <functional>
#include <numeric>

namespace corewise::detail {
namespace {

std::size_t count_fastest(const locality_groups& groups, const std::vector<group_id>& near) {
  const auto as_fast = [&](group_id g) { return groups[g].capacity == groups[near.front()].capacity; };
  return static_cast<std::size_t>(std::ranges::count_if(near, as_fast));
}

/// A group, and one word with all that decides a tie before its number does. Comparing words is what makes
/// sorting the orders of a thousand domains bearable.
struct ranked_group {
  std::uint64_t rank = 0; // level, then how much capacity it lacks, then distance
  group_id group;

  auto operator<=>(const ranked_group&) const = default;
};

ranked_group rank(const locality_groups& groups, group_id from, group_id g) {
  const auto level_bits = static_cast<std::uint64_t>(groups.level_between(from, g)) << 48;
  const auto capacity_bits = std::uint64_t{full_capacity - groups[g].capacity} << 32;
  return {level_bits | capacity_bits | groups.distance(from, g), g};
}

/// Where each level begins in a list that is sorted by level.
std::array<std::size_t, level_count + 1> level_begins(const locality_groups& groups, group_id from,
                                                      const std::vector<group_id>& far) {
  std::array<std::size_t, level_count + 1> begin{};
  for (const group_id g : far) ++begin[static_cast<std::size_t>(groups.level_between(from, g)) + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  return begin;
}

neighbourhood look_around(const locality_groups& groups, const std::vector<group_id>& domain,
                          const std::vector<group_id>& with_workers) {
  neighbourhood around;
  const group_id here = domain.front();
  std::vector<ranked_group> far;
  for (const group_id g : with_workers)
    if (groups[g].domain == groups[here].domain)
      around.near.push_back(g);
    else
      far.push_back(rank(groups, here, g));
  std::ranges::sort(far);
  for (const ranked_group& r : far) around.far.push_back(r.group);
  // Numbers follow capacities only while all run at full speed.
  std::ranges::stable_sort(around.near, std::greater{}, [&](group_id g) { return groups[g].capacity; });
  if (!around.near.empty()) around.fastest = count_fastest(groups, around.near);
  around.begin = level_begins(groups, here, around.far);
  return around;
}

} // namespace

std::vector<neighbourhood> neighbourhoods_of(const locality_groups& groups, const worker_layout& workers) {
  std::vector<group_id> with_workers;
  for (const locality_group& g : groups.groups())
    if (!workers.of_group(g.id).empty()) with_workers.push_back(g.id);

  std::vector<neighbourhood> all;
  all.reserve(groups.domains().size());
  for (const auto& domain : groups.domains()) all.push_back(look_around(groups, domain, with_workers));
  return all;
}

} // namespace corewise::detail
