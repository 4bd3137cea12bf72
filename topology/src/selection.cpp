#include "selection.hpp"

#include "kinds.hpp"

#include <corewise/topology/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace corewise::detail {
namespace {

std::string package_names(const machine_facts& facts) {
  std::vector<std::uint32_t> ids;
  for (const auto& p : facts.packages)
    if (p.id) ids.push_back(*p.id);
  return ids.empty() ? "none with a number" : fmt::format("{}", fmt::join(ids, ", "));
}

std::string node_names(const machine_facts& facts) {
  std::vector<std::uint32_t> numbers;
  numbers.reserve(facts.nodes.size());
  for (const auto& node : facts.nodes) numbers.push_back(node.os_index);
  return numbers.empty() ? "none" : fmt::format("{}", fmt::join(numbers, ", "));
}

cpu_set of_packages(const machine_facts& facts, const std::vector<std::uint32_t>& wanted) {
  cpu_set cpus;
  for (const auto id : wanted) {
    bool found = false;
    for (const auto& p : facts.packages) {
      if (p.id != id) continue;
      cpus |= p.cpus;
      found = true;
    }
    if (!found)
      throw topology_error(fmt::format("topology.use.packages: there is no package {}; usable here: {}", id,
                                       package_names(facts)));
  }
  return cpus;
}

cpu_set of_nodes(const machine_facts& facts, const std::vector<std::uint32_t>& wanted) {
  cpu_set cpus;
  for (const auto number : wanted) {
    const auto node = std::ranges::find(facts.nodes, number, &numa_node::os_index);
    if (node == facts.nodes.end())
      throw topology_error(fmt::format("topology.use.numa: there is no NUMA node {}; this machine has {}",
                                       number, node_names(facts)));
    cpus |= node->home_cpus;
  }
  return cpus;
}

cpu_set of_kinds(const machine_facts& facts, const std::vector<std::string>& wanted) {
  cpu_set cpus;
  for (const auto& name : wanted) {
    const auto kind = std::ranges::find(facts.kinds, name, &core_kind::name);
    if (kind == facts.kinds.end())
      throw topology_error(fmt::format("topology.use.kinds: there is no kind {}; this machine has {}", name,
                                       kind_names(facts.kinds)));
    cpus |= kind->cpus;
  }
  return cpus;
}

/// Warns of CPUs that are named, but absent, offline or not allowed.
void warn_of_missing(machine_facts& facts, const cpu_set& named) {
  const auto missing = named - facts.cpus;
  if (!missing.empty())
    facts.warnings.push_back(
        fmt::format("topology.use.cpus: CPUs {} are absent, offline or not allowed, and are left "
                    "out; usable here: {}",
                    missing.to_string(), facts.cpus.to_string()));
}

} // namespace

cpu_set select_cpus(machine_facts& facts, const machine_description::selection& use) {
  auto cpus = facts.cpus;
  if (!use.packages.empty()) cpus &= of_packages(facts, use.packages);
  if (!use.nodes.empty()) cpus &= of_nodes(facts, use.nodes);
  if (!use.kinds.empty()) cpus &= of_kinds(facts, use.kinds);
  if (use.cpus) {
    warn_of_missing(facts, *use.cpus);
    cpus &= *use.cpus;
  }
  cpus -= use.reserve;
  if (cpus.empty())
    throw topology_error(
        fmt::format("topology.use: the selection leaves no CPU; usable here: {}", facts.cpus.to_string()));
  return cpus;
}

} // namespace corewise::detail
