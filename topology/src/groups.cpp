#include "outward.hpp"
#include "partition.hpp"

#include <corewise/topology/error.hpp>
#include <corewise/topology/groups.hpp>

#include <algorithm>
#include <string>

namespace corewise {
namespace {

constexpr std::uint32_t local_distance = 10;

void check_count(std::size_t groups) {
  if (groups <= locality_groups::largest) return;
  throw topology_error(std::to_string(groups) + " locality groups would result, at most " +
                       std::to_string(locality_groups::largest) +
                       " are possible; a coarser group_by or a larger group_max makes fewer");
}

std::vector<std::vector<group_id>> groups_by_domain(const std::vector<locality_group>& groups) {
  std::vector<std::vector<group_id>> domains;
  for (const locality_group& g : groups) {
    if (g.domain == domains.size()) domains.emplace_back();
    domains[g.domain].push_back(g.id);
  }
  return domains;
}

std::vector<std::optional<group_id>> groups_by_cpu(const std::vector<locality_group>& groups) {
  std::vector<std::optional<group_id>> by_cpu;
  for (const locality_group& g : groups)
    for (const std::uint32_t cpu : g.cpus.to_vector()) {
      if (cpu >= by_cpu.size()) by_cpu.resize(cpu + 1);
      by_cpu[cpu] = g.id;
    }
  return by_cpu;
}

} // namespace

locality_groups::locality_groups(const topology& machine, const grouping_options& options)
    : groups_(detail::partition_into_groups(machine, options)),
      domains_(groups_by_domain(groups_)),
      group_of_cpu_(groups_by_cpu(groups_)) {
  check_count(size());
  levels_.reserve(size() * size());
  distances_.reserve(size() * size());
  for (const locality_group& a : groups_)
    for (const locality_group& b : groups_) {
      levels_.push_back(detail::level_of(a, b));
      distances_.push_back(a.node && b.node ? machine.distance(*a.node, *b.node) : local_distance);
    }
  for (locality_group& g : groups_) {
    const std::size_t row = g.id.value * size();
    g.steal_order = detail::outward_order(g.id, std::span(levels_).subspan(row, size()),
                                          std::span(distances_).subspan(row, size()));
  }
}

locality_groups locality_groups::at_speeds(std::span<const std::uint32_t> percent) const {
  locality_groups slowed = *this;
  for (locality_group& g : slowed.groups_)
    g.capacity = std::clamp<std::uint32_t>(g.capacity * percent[g.id.value] / 100, 1, full_capacity);
  return slowed;
}

} // namespace corewise
