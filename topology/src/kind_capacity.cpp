#include "kind_capacity.hpp"

#include "speed.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace corewise::detail {
namespace {

using trait_list = std::vector<cpu_traits>;

struct measure {
  std::string source;
  std::vector<double> speeds; ///< 0: unknown
};

template <class Speed> measure measured(const trait_list& kinds, std::string source, Speed speed) {
  measure m{std::move(source), {}};
  for (const auto& traits : kinds) m.speeds.push_back(static_cast<double>(speed(traits)));
  return m;
}

measure by_clock(const trait_list& kinds) {
  const bool all_have_max = std::ranges::all_of(kinds, [](const cpu_traits& t) { return t.max_mhz != 0; });
  const bool all_have_base = std::ranges::all_of(kinds, [](const cpu_traits& t) { return t.base_mhz != 0; });
  const bool typed = std::ranges::any_of(kinds, [](const cpu_traits& t) { return !t.core_type.empty(); });
  return measured(kinds, typed ? "frequency and core type, assumed" : "frequency, assumed",
                  [&](const cpu_traits& t) {
                    const auto clock = all_have_base && !all_have_max ? t.base_mhz : clock_mhz(t);
                    return clock * type_factor(t);
                  });
}

measure by_type(const trait_list& kinds) {
  return measured(kinds, "core type, assumed",
                  [](const cpu_traits& t) { return t.typed() ? type_factor(t) : 0; });
}

/// Rates kinds by their rank. hwloc tells only the order; each rank is assumed to have .6 of the next one's
/// speed.
measure by_rank(const trait_list& kinds) {
  std::set<int> faster;
  for (const auto& t : kinds) faster.insert(t.rank);
  return measured(kinds, "ranking, assumed", [&](const cpu_traits& t) {
    return t.rank < 0 ? 0 : std::pow(.6, std::distance(faster.upper_bound(t.rank), faster.end()));
  });
}

/// Returns the first measure that knows all kinds, else the measure that knows most.
measure best_measure(const trait_list& kinds) {
  const std::array measures{
      measured(kinds, "cpu_capacity", [](const cpu_traits& t) { return t.capacity; }),
      measured(kinds, "CPPC nominal", [](const cpu_traits& t) { return t.nominal; }),
      by_clock(kinds),
      by_type(kinds),
      by_rank(kinds),
  };
  return *std::ranges::min_element(measures, {},
                                   [](const measure& m) { return std::ranges::count(m.speeds, 0); });
}

} // namespace

std::vector<rating> rate_kinds(const trait_list& kinds, std::vector<std::string>& warnings) {
  if (kinds.size() <= 1) return std::vector<rating>(kinds.size());
  const auto known = best_measure(kinds);
  const auto fastest = *std::ranges::max_element(known.speeds);
  std::vector<rating> ratings;
  ratings.reserve(kinds.size());
  for (std::size_t i = 0; i < kinds.size(); ++i)
    ratings.push_back(known.speeds[i] > 0 ? rating{known.speeds[i], known.source}
                                          : rating{fastest * type_factor(kinds[i]), "core type, assumed"});
  if (std::ranges::count(known.speeds, 0) > 0)
    warnings.emplace_back("no source tells the speed of all core kinds; some capacities are assumed");
  return ratings;
}

} // namespace corewise::detail
