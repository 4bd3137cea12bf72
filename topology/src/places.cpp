#include "places.hpp"

#include "kinds.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace corewise::detail {
namespace {

std::vector<std::size_t> by_preference(const std::vector<scanned_node>& nodes) {
  std::vector<std::size_t> order(nodes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) {
    const auto& node = nodes[i];
    return std::tuple(node.special, node.cpus.size(), node.memory_bytes == 0, node.os_index);
  });
  return order;
}

/// Returns which part each CPU is in, by CPU number.
template <class Part> std::vector<std::optional<std::uint32_t>> index_cpus(const std::vector<Part>& parts) {
  std::vector<std::optional<std::uint32_t>> index;
  for (std::uint32_t i = 0; i < parts.size(); ++i) {
    for (const auto cpu : parts[i].to_vector()) {
      if (cpu >= index.size()) index.resize(cpu + 1);
      if (!index[cpu]) index[cpu] = i;
    }
  }
  return index;
}

template <class Part> std::vector<cpu_set> sets_of(const std::vector<Part>& parts, cpu_set Part::* set) {
  std::vector<cpu_set> sets;
  sets.reserve(parts.size());
  for (const auto& part : parts) sets.push_back(part.*set);
  return sets;
}

std::optional<std::uint32_t> at(const std::vector<std::optional<std::uint32_t>>& index, std::uint32_t cpu) {
  return cpu < index.size() ? index[cpu] : std::nullopt;
}

template <class Part> void restrict_parts(std::vector<Part>& parts, const cpu_set& cpus) {
  for (auto& part : parts) part.cpus &= cpus;
  std::erase_if(parts, [](const Part& part) { return part.cpus.empty(); });
}

} // namespace

std::vector<numa_node> place_nodes(const machine_scan& scan) {
  std::vector<numa_node> nodes;
  nodes.reserve(scan.nodes.size());
  for (const auto& node : scan.nodes) nodes.push_back({node.os_index, node.cpus, {}, node.memory_bytes});
  auto homeless = scan.cpus;
  const auto settle = [&](numa_node& node, const cpu_set& cpus) {
    const auto settled = cpus & homeless;
    node.home_cpus |= settled;
    homeless -= settled;
  };
  for (std::size_t i = 0; i < scan.kernel_node_cpus.size(); ++i) settle(nodes[i], scan.kernel_node_cpus[i]);
  for (const auto i : by_preference(scan.nodes)) settle(nodes[i], nodes[i].cpus);
  return nodes;
}

void restrict_places(machine_facts& facts, const cpu_set& cpus) {
  facts.cpus = cpus;
  restrict_parts(facts.packages, cpus);
  restrict_parts(facts.llcs, cpus);
  restrict_kinds(facts.kinds, cpus);
  for (auto& node : facts.nodes) {
    node.cpus &= cpus;
    node.home_cpus &= cpus;
  }
}

std::vector<core> place_cores(const machine_facts& facts, const std::vector<cpu_set>& cores) {
  const auto packages = index_cpus(sets_of(facts.packages, &package::cpus));
  const auto nodes = index_cpus(sets_of(facts.nodes, &numa_node::home_cpus));
  const auto llcs = index_cpus(sets_of(facts.llcs, &last_level_cache::cpus));
  const auto kinds = index_cpus(sets_of(facts.kinds, &core_kind::cpus));
  std::vector<core> placed;
  for (const auto& cpus : cores) {
    auto left = cpus & facts.cpus;
    if (left.empty()) continue;
    const auto first = left.first();
    placed.push_back(
        {std::move(left), at(packages, first), at(nodes, first), at(llcs, first), *at(kinds, first)});
  }
  return placed;
}

} // namespace corewise::detail
