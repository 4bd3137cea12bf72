#include "kind_drafts.hpp"

#include "speed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace corewise::detail {
namespace {

constexpr double same_kind_ratio = 1.3;

/// Orders two descriptions of one core: returns whether the core counts as `a` rather than as `b`. The type
/// decides first, since a type says more than a clock.
bool tells_more(const cpu_traits& a, const cpu_traits& b) {
  if (a.typed() != b.typed()) return a.typed();
  if (type_factor(a) != type_factor(b)) return type_factor(a) > type_factor(b);
  return slower(b, a);
}

/// A core's traits are those of its fastest CPU.
const cpu_traits& traits_of_core(const machine_scan& scan, const cpu_set& core) {
  const auto* best = &scan.traits_of(core.first());
  for (const auto cpu : core.to_vector())
    if (const auto& traits = scan.traits_of(cpu); tells_more(traits, *best)) best = &traits;
  return *best;
}

bool differ_in_kind(const cpu_traits& fast, const cpu_traits& other) {
  if (!other.typed() && !other.has_speed()) return false;
  if (fast.core_type != other.core_type || fast.part != other.part) return true;
  return speed_ratio(fast, other).value_or(1) > same_kind_ratio;
}

/// Sorts the cores by their traits, so that the rules that follow handle few different traits.
std::map<cpu_traits, cpu_set> sort_cores(const machine_scan& scan, std::vector<std::string>& warnings) {
  std::map<cpu_traits, cpu_set> sorted;
  cpu_set cut;
  for (const auto& core : scan.cores) {
    const auto& traits = traits_of_core(scan, core);
    sorted[traits] |= core;
    for (const auto cpu : core.to_vector())
      if (differ_in_kind(traits, scan.traits_of(cpu))) cut.insert(cpu);
  }
  if (!cut.empty())
    warnings.push_back(
        fmt::format("the source puts CPUs {} into another kind than their own cores; a core has one kind, "
                    "that of its fastest CPU",
                    cut.to_string()));
  return sorted;
}

/// Forgets hwloc's ranks unless nothing else is known of any core.
void keep_ranks_only_if_alone(std::map<cpu_traits, cpu_set>& sorted) {
  const auto silent = [](const auto& entry) { return !entry.first.typed() && !entry.first.has_speed(); };
  if (std::ranges::all_of(sorted, silent)) return;
  std::map<cpu_traits, cpu_set> unranked;
  for (const auto& [traits, cpus] : sorted) {
    auto known = traits;
    known.rank = -1;
    unranked[known] |= cpus;
  }
  sorted = std::move(unranked);
}

bool same_type(const cpu_traits& a, const cpu_traits& b) {
  return a.core_type == b.core_type && a.part == b.part;
}

/// Returns the draft nearest in speed; nothing when there is no draft to compare with.
draft* nearest_by_speed(std::vector<draft>& drafts, const cpu_traits& traits, double* distance) {
  draft* nearest = nullptr;
  for (auto& d : drafts) {
    const auto ratio = speed_ratio(d.fastest, traits);
    if (!ratio) continue;
    const auto away = std::abs(std::log(*ratio));
    if (nearest != nullptr && away >= *distance) continue;
    nearest = &d;
    *distance = away;
  }
  return nearest;
}

/// Adds typed cores to the drafts, and all cores where no core has a type. `fastest_first` is sorted by
/// speed, so a core's kind, if it exists, is the last draft of its type. A kind begins at a gap, not at a
/// distance from the fastest core: turbo bins may go down in many small steps.
void add_by_type_and_speed(std::vector<draft>& drafts, const cpu_traits& traits, const cpu_set& cpus) {
  const auto last = std::find_if(drafts.rbegin(), drafts.rend(),
                                 [&](const draft& d) { return same_type(d.fastest, traits); });
  const bool joins = last != drafts.rend() && last->fastest.rank == traits.rank &&
                     speed_ratio(last->slowest, traits).value_or(1) <= same_kind_ratio;
  if (joins) {
    last->slowest = traits;
    last->cpus |= cpus;
  } else {
    drafts.push_back({traits, traits, cpus});
  }
}

/// Adds cores without a type on a machine whose other cores have one.
void add_untyped(std::vector<draft>& drafts, const cpu_traits& traits, const cpu_set& cpus) {
  double away = 0;
  auto* nearest = nearest_by_speed(drafts, traits, &away);
  if (nearest != nullptr && away <= std::log(same_kind_ratio))
    nearest->cpus |= cpus;
  else
    drafts.push_back({traits, traits, cpus});
}

const package* package_of(const machine_scan& scan, std::uint32_t cpu) {
  const auto at = std::ranges::find_if(scan.packages, [&](const package& p) { return p.cpus.contains(cpu); });
  return at == scan.packages.end() ? nullptr : &*at;
}

/// Adds cores of which nothing is known, on a machine where something is known of others.
void add_unknown(std::vector<draft>& drafts, const machine_scan& scan, const cpu_set& unknown,
                 std::vector<std::string>& warnings) {
  if (unknown.empty()) return;
  if (drafts.empty()) {
    drafts.push_back({{}, {}, unknown});
    return;
  }
  warnings.push_back(fmt::format("the kind of CPUs {} is unknown; they count as {}", unknown.to_string(),
                                 drafts.size() == 1 ? "the only kind" : "the kind most common near them"));
  std::vector<cpu_set> known;
  known.reserve(drafts.size());
  for (const auto& d : drafts) known.push_back(d.cpus);
  std::vector<std::size_t> all(known.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  for (const auto& core : scan.cores)
    if (core.is_subset_of(unknown)) drafts[most_common_nearby(known, all, scan, core)].cpus |= core;
}

} // namespace

std::size_t most_common_nearby(const std::vector<cpu_set>& kinds, const std::vector<std::size_t>& candidates,
                               const machine_scan& scan, const cpu_set& core) {
  const auto* home = package_of(scan, core.first());
  return *std::ranges::max_element(candidates, {}, [&](std::size_t k) {
    return std::pair(home == nullptr ? 0 : (kinds[k] & home->cpus).size(), kinds[k].size());
  });
}

std::vector<draft> draft_kinds(const machine_scan& scan, std::vector<std::string>& warnings) {
  auto sorted = sort_cores(scan, warnings);
  keep_ranks_only_if_alone(sorted);
  std::vector<std::pair<cpu_traits, cpu_set>> fastest_first(sorted.begin(), sorted.end());
  std::ranges::sort(fastest_first, [](const auto& a, const auto& b) {
    if (slower(b.first, a.first)) return true;
    return !slower(a.first, b.first) && a.first < b.first;
  });

  const bool typed =
      std::ranges::any_of(fastest_first, [](const auto& entry) { return entry.first.typed(); });
  const auto silent = [](const cpu_traits& t) { return !t.typed() && !t.has_speed() && t.rank < 0; };
  std::vector<draft> drafts;
  cpu_set unknown;
  for (const auto& [traits, cpus] : fastest_first)
    if (silent(traits)) unknown |= cpus;
  for (const auto& [traits, cpus] : fastest_first)
    if (!silent(traits) && (traits.typed() || !typed)) add_by_type_and_speed(drafts, traits, cpus);
  for (const auto& [traits, cpus] : fastest_first)
    if (!silent(traits) && !traits.typed() && typed) add_untyped(drafts, traits, cpus);
  add_unknown(drafts, scan, unknown, warnings);
  return drafts;
}

} // namespace corewise::detail
