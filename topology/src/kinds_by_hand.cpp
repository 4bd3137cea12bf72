#include "kind_drafts.hpp"
#include "kinds.hpp"

#include <corewise/topology/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace corewise::detail {
namespace {

/// A kind that is described by hand, before the kinds are complete.
struct hand_kind {
  std::string name;
  cpu_set wanted; ///< as described, less what this machine does not have
  cpu_set cpus;   ///< whole cores
  std::uint32_t discovered = 0;
  std::uint32_t capacity = 0;
  std::string source;
};

const core_kind& kind_of(const std::vector<core_kind>& kinds, std::uint32_t cpu) {
  return *std::ranges::find_if(kinds, [&](const core_kind& k) { return k.cpus.contains(cpu); });
}

hand_kind make_hand_kind(const kind_description& described, const cpu_set& machine,
                         const std::vector<core_kind>& discovered) {
  hand_kind kind{described.name, described.cpus & machine, {}, 0, 0, "profile"};
  for (const auto& found : discovered) { // slowest first: the fastest one that the kind covers stays
    if (!found.cpus.intersects(kind.wanted)) continue;
    kind.discovered = found.capacity;
    if (!described.capacity) kind.source = found.source;
  }
  kind.capacity = described.capacity.value_or(kind.discovered);
  return kind;
}

void check_described(const std::vector<kind_description>& described) {
  cpu_set seen;
  std::vector<std::string> names;
  for (const auto& kind : described) {
    if (kind.name.empty()) throw topology_error("kinds: a kind needs a name, such as P or E");
    if (std::ranges::find(names, kind.name) != names.end())
      throw topology_error(fmt::format("kinds: {} is described twice; each kind has one entry", kind.name));
    if (seen.intersects(kind.cpus))
      throw topology_error(
          fmt::format("kinds: CPUs {} of kind {} are already in another kind; a CPU has one kind",
                      (seen & kind.cpus).to_string(), kind.name));
    if (kind.capacity) check_capacity(kind.name, *kind.capacity);
    names.push_back(kind.name);
    seen |= kind.cpus;
  }
}

std::vector<hand_kind> make_hand_kinds(const machine_scan& scan, const std::vector<core_kind>& discovered,
                                       const std::vector<kind_description>& described,
                                       std::vector<std::string>& warnings) {
  std::vector<hand_kind> kinds;
  for (const auto& one : described) {
    auto kind = make_hand_kind(one, scan.cpus, discovered);
    if (kind.wanted.empty())
      warnings.push_back(
          fmt::format("kinds: {} has no CPU on this machine, which has {}", one.name, scan.cpus.to_string()));
    else
      kinds.push_back(std::move(kind));
  }
  if (kinds.empty())
    throw topology_error(
        fmt::format("kinds: none of them has a CPU of this machine, which has {}", scan.cpus.to_string()));
  return kinds;
}

/// Returns the fastest of the kinds that name a CPU of the core.
hand_kind* owner_of(std::vector<hand_kind>& kinds, const cpu_set& core) {
  hand_kind* owner = nullptr;
  for (auto& kind : kinds)
    if (kind.wanted.intersects(core) && (owner == nullptr || kind.capacity > owner->capacity)) owner = &kind;
  return owner;
}

/// Returns the kinds whose discovered speed is nearest to that of the core; all kinds where no speeds are
/// known.
std::vector<std::size_t> nearest_kinds(const std::vector<hand_kind>& kinds, std::uint32_t speed) {
  const auto away = [&](const hand_kind& k) { return std::abs(std::log(double{1} * k.discovered / speed)); };
  const auto least = away(*std::ranges::min_element(kinds, {}, away));
  std::vector<std::size_t> nearest;
  for (std::size_t i = 0; i < kinds.size(); ++i)
    if (away(kinds[i]) <= least) nearest.push_back(i);
  return nearest;
}

/// Gives each core to one kind.
void deal_cores(std::vector<hand_kind>& kinds, const machine_scan& scan,
                const std::vector<core_kind>& discovered, std::vector<std::string>& warnings) {
  cpu_set cut;
  cpu_set unnamed;
  std::vector<cpu_set> wanted;
  wanted.reserve(kinds.size());
  for (const auto& kind : kinds) wanted.push_back(kind.wanted);
  for (const auto& core : scan.cores) {
    auto* owner = owner_of(kinds, core);
    if (owner == nullptr) {
      unnamed |= core;
      const auto nearest = nearest_kinds(kinds, kind_of(discovered, core.first()).capacity);
      owner = &kinds[most_common_nearby(wanted, nearest, scan, core)];
    } else if (!core.is_subset_of(owner->wanted)) {
      cut |= core - owner->wanted;
    }
    owner->cpus |= core;
  }
  if (!cut.empty())
    warnings.push_back(
        fmt::format("kinds: CPUs {} follow the other CPUs of their cores; a core has one kind, the fastest",
                    cut.to_string()));
  if (!unnamed.empty())
    warnings.push_back(fmt::format(
        "kinds: CPUs {} are in no kind; they count as {}", unnamed.to_string(),
        kinds.size() == 1 ? "the only kind" : "the nearest kind by speed, or by place if no speed is known"));
}

} // namespace

std::vector<core_kind> describe_kinds(const machine_scan& scan, const std::vector<core_kind>& discovered,
                                      const std::vector<kind_description>& described,
                                      std::vector<std::string>& warnings) {
  check_described(described);
  auto hand_kinds = make_hand_kinds(scan, discovered, described, warnings);
  deal_cores(hand_kinds, scan, discovered, warnings);
  std::vector<core_kind> kinds;
  for (auto& kind : hand_kinds)
    if (!kind.cpus.empty()) kinds.push_back({0, kind.name, kind.cpus, kind.capacity, kind.source});
  if (normalise_kinds(kinds))
    warnings.emplace_back("kinds: the capacities are scaled so that the fastest kind has 1024");
  return kinds;
}

} // namespace corewise::detail
