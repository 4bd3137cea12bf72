#pragma once

#include <corewise/topology/topology.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace corewise::tests {

/// A core of a machine that is made by hand; package, node and LLC are dense numbers from 0.
struct made_core {
  std::string cpus;
  std::optional<std::uint32_t> package;
  std::optional<std::uint32_t> node;
  std::optional<std::uint32_t> llc;
  std::uint32_t kind = 0;
};

/// A machine that is made by hand: its cores in logical order, and each kind's capacity, slowest first.
struct made_machine {
  std::vector<made_core> cores;
  std::vector<std::uint32_t> capacities{full_capacity};
  std::vector<std::vector<std::uint32_t>> distances;
  std::optional<double> quota_cpus;
  std::uint32_t llc_level = 3;
};

namespace detail {

/// Returns the i-th of `places`, and makes it if it is not there yet.
template <class Place> Place& place_at(std::vector<Place>& places, std::uint32_t i) {
  if (i >= places.size()) places.resize(i + 1);
  return places[i];
}

inline void add_core(machine_facts& facts, const made_core& made, std::uint32_t llc_level) {
  const cpu_set cpus = cpu_set::parse(made.cpus).value();
  facts.cpus |= cpus;
  facts.cores.push_back({cpus, made.package, made.node, made.llc, made.kind});
  facts.kinds[made.kind].cpus |= cpus;
  if (made.package) place_at(facts.packages, *made.package).cpus |= cpus;
  if (made.node) place_at(facts.nodes, *made.node).home_cpus |= cpus;
  if (made.llc) {
    place_at(facts.llcs, *made.llc).cpus |= cpus;
    facts.llcs[*made.llc].level = llc_level;
  }
}

inline void number_nodes(machine_facts& facts, const std::vector<std::vector<std::uint32_t>>& distances) {
  for (std::uint32_t i = 0; i < facts.nodes.size(); ++i) {
    facts.nodes[i].os_index = i;
    facts.nodes[i].cpus = facts.nodes[i].home_cpus;
  }
  if (distances.empty()) return;
  facts.distances.emplace();
  facts.distances->matrix = distances;
  for (std::uint32_t i = 0; i < distances.size(); ++i) facts.distances->nodes.push_back(i);
}

} // namespace detail

inline topology build(const made_machine& made) {
  machine_facts facts;
  facts.source = "made by hand";
  for (std::uint32_t rank = 0; rank < made.capacities.size(); ++rank)
    facts.kinds.push_back({rank, "kind" + std::to_string(rank), {}, made.capacities[rank], "made by hand"});
  for (const made_core& c : made.cores) detail::add_core(facts, c, made.llc_level);
  detail::number_nodes(facts, made.distances);
  facts.limits.quota_cpus = made.quota_cpus;
  return topology(std::move(facts));
}

/// `nodes` NUMA nodes, each a package with one last-level cache and `cores_each` cores of one CPU and kind.
inline made_machine one_kind(std::uint32_t nodes, std::uint32_t cores_each) {
  made_machine made;
  for (std::uint32_t i = 0; i < nodes * cores_each; ++i)
    made.cores.push_back({std::to_string(i), i / cores_each, i / cores_each, i / cores_each});
  return made;
}

/// Two packages of 8 fast cores (CPUs 0-7, 16-23) and 8 slow ones (8-15, 24-31) under one cache each.
inline made_machine two_hybrid_sockets(std::uint32_t slow_capacity = 512) {
  made_machine made;
  made.capacities = {slow_capacity, full_capacity};
  for (std::uint32_t i = 0; i < 32; ++i)
    made.cores.push_back({std::to_string(i), i / 16, i / 16, i / 16, i % 16 < 8 ? 1U : 0U});
  return made;
}

} // namespace corewise::tests
