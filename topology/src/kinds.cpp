#include "kinds.hpp"

#include "kind_capacity.hpp"
#include "kind_drafts.hpp"
#include "kind_names.hpp"
#include "speed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <tuple>

namespace corewise::detail {
namespace {

/// Warns of capacities that contradict the clocks. Such a capacity is right on some machines, and a wrong
/// table on others.
void warn_of_contradictions(const std::vector<core_kind>& slowest_first,
                            const std::vector<cpu_traits>& traits, std::vector<std::string>& warnings) {
  for (std::size_t i = 1; i < slowest_first.size(); ++i) {
    const auto& slow = traits[i - 1];
    const auto& fast = traits[i];
    const bool lower_clock =
        clock_mhz(fast) != 0 && clock_mhz(fast) < clock_mhz(slow) && fast.base_mhz <= slow.base_mhz;
    if (lower_clock && !slowest_first[i].source.starts_with("frequency"))
      warnings.push_back(fmt::format("kind {} (CPUs {}) has a lower clock than kind {} (CPUs {}), {} and {} "
                                     "MHz, but a higher {}, which decides",
                                     slowest_first[i].name, slowest_first[i].cpus.to_string(),
                                     slowest_first[i - 1].name, slowest_first[i - 1].cpus.to_string(),
                                     clock_mhz(fast), clock_mhz(slow), slowest_first[i].source));
  }
}

} // namespace

std::vector<core_kind> discover_kinds(const machine_scan& scan, std::vector<std::string>& warnings) {
  const auto drafts = draft_kinds(scan, warnings);
  std::vector<cpu_traits> traits;
  traits.reserve(drafts.size());
  for (const auto& d : drafts) traits.push_back(d.fastest);
  const auto ratings = rate_kinds(traits, warnings);

  std::vector<std::size_t> order(drafts.size()); // fastest first
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    return std::tuple(ratings[a].speed, type_factor(traits[a]), b) >
           std::tuple(ratings[b].speed, type_factor(traits[b]), a);
  });
  std::vector<cpu_traits> sorted_traits;
  sorted_traits.reserve(order.size());
  for (const auto i : order) sorted_traits.push_back(traits[i]);
  const auto names = name_kinds(sorted_traits, scan.architecture);

  std::vector<core_kind> kinds;
  const auto fastest = ratings[order.front()].speed;
  for (std::size_t place = 0; place < order.size(); ++place) {
    const auto& rated = ratings[order[place]];
    kinds.push_back(
        {0, names[place], drafts[order[place]].cpus, scale_capacity(rated.speed, fastest), rated.source});
  }
  std::ranges::reverse(kinds);
  std::ranges::reverse(sorted_traits);
  normalise_kinds(kinds);
  warn_of_contradictions(kinds, sorted_traits, warnings);
  return kinds;
}

} // namespace corewise::detail
