#include "partition.hpp"

#include <algorithm>
#include <compare>
#include <map>
#include <numeric>
#include <utility>

namespace corewise::detail {
namespace {

/// The key that the cores of one domain share. It consists of facts about whole cores, so that no core is
/// ever cut.
struct domain_key {
  std::optional<std::uint32_t> package;
  std::optional<std::uint32_t> node;
  std::optional<std::uint32_t> area; ///< the core or the cache, as `group_by` says

  auto operator<=>(const domain_key&) const = default;
};

struct domain_cores {
  std::uint32_t lowest_cpu = 0;
  std::vector<std::uint32_t> cores; // in logical order
};

/// Counts how many cores use each last-level cache.
std::vector<std::uint32_t> users_of_llcs(const topology& machine) {
  std::vector<std::uint32_t> users(machine.llcs().size());
  for (const core& c : machine.cores())
    if (c.llc) ++users[*c.llc];
  return users;
}

std::optional<std::uint32_t> area_of(const topology& machine, std::uint32_t core_index, domain_kind group_by,
                                     const std::vector<std::uint32_t>& llc_users) {
  const std::optional<std::uint32_t> llc = machine.cores()[core_index].llc;
  switch (group_by) {
  case domain_kind::core: return core_index;
  case domain_kind::llc: return llc && llc_users[*llc] > 1 ? llc : std::nullopt; // one core shares nothing
  case domain_kind::numa:
  case domain_kind::package:
  case domain_kind::machine: break;
  }
  return std::nullopt;
}

std::vector<domain_cores> domains_by_lowest_cpu(const topology& machine, domain_kind group_by) {
  std::map<domain_key, domain_cores> found;
  const std::vector<std::uint32_t> llc_users = users_of_llcs(machine);
  for (std::uint32_t i = 0; i < machine.cores().size(); ++i) {
    const core& c = machine.cores()[i];
    domain_cores& d = found[{c.package, c.node, area_of(machine, i, group_by, llc_users)}];
    d.lowest_cpu = d.cores.empty() ? c.cpus.first() : std::min(d.lowest_cpu, c.cpus.first());
    d.cores.push_back(i);
  }
  std::vector<domain_cores> domains;
  domains.reserve(found.size());
  for (auto& [key, d] : found) domains.push_back(std::move(d));
  std::ranges::sort(domains, {}, &domain_cores::lowest_cpu);
  return domains;
}

std::vector<std::uint32_t> kinds_fastest_first(const topology& machine) {
  const auto& kinds = machine.kinds();
  std::vector<std::uint32_t> order(kinds.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, std::ranges::greater{},
                    [&](std::uint32_t k) { return std::pair(kinds[k].capacity, k); });
  return order;
}

/// Returns the level of the cache that all of these cores share; nothing when they share none.
std::optional<std::uint32_t> shared_llc_level(const topology& machine, std::span<const std::uint32_t> cores) {
  const auto llc = machine.cores()[cores.front()].llc;
  const auto same = [&](std::uint32_t c) { return machine.cores()[c].llc == llc; };
  if (!llc || !std::ranges::all_of(cores, same)) return std::nullopt;
  return machine.llcs()[*llc].level;
}

locality_group make_group(const topology& machine, std::span<const std::uint32_t> cores,
                          std::uint32_t domain) {
  const core& any = machine.cores()[cores.front()];
  locality_group group;
  group.cores.assign(cores.begin(), cores.end());
  for (const std::uint32_t c : cores) group.cpus |= machine.cores()[c].cpus;
  group.kind = any.kind;
  group.capacity = machine.kinds()[any.kind].capacity;
  group.domain = domain;
  group.package = any.package;
  group.node = any.node;
  group.llc_level = shared_llc_level(machine, cores);
  return group;
}

/// Cuts into as few consecutive parts as `part_max` allows. The first parts are larger by one where the
/// number does not divide.
std::vector<std::span<const std::uint32_t>> cut_evenly(std::span<const std::uint32_t> cores,
                                                       std::size_t part_max) {
  const std::size_t parts = part_max == 0 ? 1 : (cores.size() + part_max - 1) / part_max;
  std::vector<std::span<const std::uint32_t>> cuts;
  std::size_t first = 0;
  for (std::size_t i = 0; i < parts; ++i) {
    const std::size_t size = cores.size() / parts + (i < cores.size() % parts ? 1 : 0);
    cuts.push_back(cores.subspan(first, size));
    first += size;
  }
  return cuts;
}

} // namespace

std::vector<locality_group> partition_into_groups(const topology& machine, const grouping_options& options) {
  const std::vector<std::uint32_t> kinds = kinds_fastest_first(machine);
  std::vector<locality_group> groups;
  std::uint32_t domain = 0;
  for (const domain_cores& d : domains_by_lowest_cpu(machine, options.group_by)) {
    for (const std::uint32_t kind : kinds) {
      std::vector<std::uint32_t> cores;
      std::ranges::copy_if(d.cores, std::back_inserter(cores),
                           [&](std::uint32_t c) { return machine.cores()[c].kind == kind; });
      if (cores.empty()) continue;
      for (const auto cut : cut_evenly(cores, options.group_max)) {
        groups.push_back(make_group(machine, cut, domain));
        groups.back().id = {static_cast<std::uint32_t>(groups.size() - 1)};
      }
    }
    ++domain;
  }
  return groups;
}

} // namespace corewise::detail
