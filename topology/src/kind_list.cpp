#include "kinds.hpp"

#include <corewise/topology/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace corewise::detail {
namespace {

core_kind& kind_named(std::vector<core_kind>& kinds, const std::string& name) {
  const auto kind = std::ranges::find(kinds, name, &core_kind::name);
  if (kind == kinds.end())
    throw topology_error(
        fmt::format("capacity: there is no kind {}; this machine has {}", name, kind_names(kinds)));
  return *kind;
}

} // namespace

void check_capacity(const std::string& name, std::uint32_t capacity) {
  if (capacity < 1 || capacity > full_capacity)
    throw topology_error(
        fmt::format("kind {}: capacity {} is out of range; a capacity is 1 to {}, the fastest kind's {}",
                    name, capacity, full_capacity, full_capacity));
}

std::uint32_t scale_capacity(double speed, double fastest) {
  return static_cast<std::uint32_t>(std::max(1L, std::lround(speed * full_capacity / fastest)));
}

void override_capacities(std::vector<core_kind>& kinds,
                         const std::map<std::string, std::uint32_t>& capacities,
                         std::vector<std::string>& warnings) {
  for (const auto& [name, capacity] : capacities) {
    check_capacity(name, capacity);
    auto& kind = kind_named(kinds, name);
    kind.capacity = capacity;
    kind.source = "profile";
  }
  if (normalise_kinds(kinds))
    warnings.emplace_back("capacity: the capacities are scaled so that the fastest kind has 1024");
}

bool normalise_kinds(std::vector<core_kind>& kinds) {
  for (std::size_t place = 0; place < kinds.size(); ++place)
    kinds[place].rank = static_cast<std::uint32_t>(place);
  std::ranges::sort(kinds, {}, [](const core_kind& kind) { return std::pair(kind.capacity, kind.rank); });
  const auto fastest = kinds.back().capacity;
  for (std::size_t rank = 0; rank < kinds.size(); ++rank) {
    kinds[rank].rank = static_cast<std::uint32_t>(rank);
    kinds[rank].capacity = scale_capacity(kinds[rank].capacity, fastest);
  }
  return fastest != full_capacity;
}

void restrict_kinds(std::vector<core_kind>& kinds, const cpu_set& cpus) {
  const auto before = kinds.size();
  for (auto& kind : kinds) kind.cpus &= cpus;
  std::erase_if(kinds, [](const core_kind& kind) { return kind.cpus.empty(); });
  normalise_kinds(kinds);
  if (kinds.size() == 1 && before > 1) kinds.front().source = "one kind";
}

std::string kind_names(const std::vector<core_kind>& kinds) {
  std::string names;
  for (auto kind = kinds.rbegin(); kind != kinds.rend(); ++kind)
    names += (names.empty() ? "" : ", ") + kind->name;
  return names;
}

} // namespace corewise::detail
