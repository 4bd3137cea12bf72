#include "places.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace corewise::command {

namespace {

constexpr std::size_t most_pairs = 4; // of a level

void add(std::vector<cpu_pair>& to, std::uint32_t a, std::uint32_t b, bool one_core = false) {
  if (to.size() < most_pairs) to.push_back({a, b, one_core});
}

std::uint32_t first_cpu(const topology& machine, const locality_group& g) {
  return machine.cores()[g.cores.front()].cpus.first();
}

/// Adds a group's first core with its last; without a second core, two hardware threads.
void add_within(const topology& machine, const locality_group& g, std::vector<cpu_pair>& cores,
                std::vector<cpu_pair>& threads) {
  const cpu_set& first = machine.cores()[g.cores.front()].cpus;
  if (g.cores.size() > 1)
    add(cores, first.first(), machine.cores()[g.cores.back()].cpus.first());
  else if (first.size() > 1)
    add(threads, first.to_vector()[0], first.to_vector()[1], true);
}

bool full(const level_pairs& pairs) {
  return std::ranges::all_of(pairs, [](const auto& some) { return some.size() == most_pairs; });
}

} // namespace

level_pairs pairs_of(const topology& machine, const locality_groups& groups) {
  level_pairs pairs;
  std::vector<cpu_pair> threads;
  auto& within = pairs[static_cast<std::size_t>(level::same_group)];
  for (const locality_group& g : groups.groups()) add_within(machine, g, within, threads);
  if (within.empty()) within = threads;
  for (const locality_group& a : groups.groups()) {
    if (full(pairs)) break;
    for (std::uint32_t b = a.id.value + 1; b < groups.size(); ++b)
      add(pairs[static_cast<std::size_t>(groups.level_between(a.id, {b}))], first_cpu(machine, a),
          first_cpu(machine, groups[{b}]));
  }
  return pairs;
}

std::string why_no_pair(const topology& machine, level at) {
  if (machine.cpus().size() < 2) return "there is one CPU to use";
  switch (at) {
  case level::same_group: return "no locality group has two cores";
  case level::same_domain: return "no locality domain has several groups";
  case level::same_node: return "no memory node has several locality domains";
  case level::same_package:
    return machine.nodes().size() < 2 ? "there is one memory node"
                                      : "no package has several memory nodes with CPUs";
  case level::cross_package: return machine.packages().size() < 2 ? "there is one package" : "no such CPUs";
  }
  return "no such CPUs";
}

std::string told(const std::vector<cpu_pair>& pairs) {
  std::string text;
  for (const cpu_pair& p : pairs)
    text += fmt::format("{}{} and {}", text.empty() ? "CPUs " : ", ", p.first, p.second);
  if (!pairs.empty() && pairs.front().one_core) text += " (hardware threads of one core)";
  return text;
}

} // namespace corewise::command
