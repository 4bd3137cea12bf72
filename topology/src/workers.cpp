#include <corewise/topology/error.hpp>
#include <corewise/topology/workers.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

namespace corewise {
namespace {

/// Workers by group.
using counts = std::vector<std::uint32_t>;

/// Where a worker can sit: a core, and the CPU of it.
struct seat {
  std::uint32_t core = 0;
  std::uint32_t cpu = 0;
};

/// Returns a group's seats in the order in which workers take them: every core once, then the second CPU of
/// every core that has one, and so on. So a few workers never share a core, and equally loaded workers with
/// low numbers are on different cores.
std::vector<seat> seats_of(const topology& machine, const locality_group& group, smt_use smt) {
  std::vector<seat> seats;
  for (std::size_t round = 0;; ++round) {
    const std::size_t before = seats.size();
    for (const std::uint32_t c : group.cores) {
      const std::vector<std::uint32_t> cpus = machine.cores()[c].cpus.to_vector();
      if (round < cpus.size()) seats.push_back({c, cpus[round]});
    }
    if (smt == smt_use::one_per_core || seats.size() == before) return seats;
  }
}

std::uint32_t seat_count(const locality_group& group, smt_use smt) {
  return static_cast<std::uint32_t>(smt == smt_use::all ? group.cpus.size() : group.cores.size());
}

/// Returns the groups in the order in which a quota is filled: whole domains outward from the start; in a
/// domain the fastest kind first; of that kind's cuts the start's own first.
std::vector<group_id> filling_order(const locality_groups& groups, group_id start) {
  std::vector<bool> taken(groups.domains().size());
  std::vector<group_id> order;
  for (const group_id near : groups[start].steal_order) {
    const std::uint32_t domain = groups[near].domain;
    if (taken[domain]) continue;
    taken[domain] = true;
    order.insert(order.end(), groups.domains()[domain].begin(), groups.domains()[domain].end());
  }
  const auto first_cut =
      std::ranges::find(order, groups[start].kind, [&](group_id g) { return groups[g].kind; });
  const auto own_cut = std::ranges::find(order, start);
  std::rotate(first_cut, own_cut, own_cut + 1);
  return order;
}

/// Gives each seat one worker, but not more in all than the host's quota.
counts automatic(const topology& machine, const locality_groups& groups, const worker_options& options) {
  double left = machine.limits().quota_cpus ? std::max(1.0, std::ceil(*machine.limits().quota_cpus))
                                            : static_cast<double>(machine.cpus().size());
  const group_id start = groups.group_of_cpu(options.start_cpu.value_or(0)).value_or(group_id{});
  counts result(groups.size(), 0);
  for (const group_id g : filling_order(groups, start)) {
    const std::uint32_t seats = seat_count(groups[g], options.smt);
    result[g.value] = static_cast<std::uint32_t>(std::min<double>(seats, left));
    left -= result[g.value];
  }
  return result;
}

/// Deals `total` in proportion to capacity × cores. What rounding leaves goes to the largest remainders; of
/// equal remainders to the lower group (which is of the faster kind where both share a domain).
counts by_capacity(const locality_groups& groups, std::uint64_t total) {
  std::vector<std::uint64_t> weights;
  for (const locality_group& g : groups.groups())
    weights.push_back(std::uint64_t{g.capacity} * g.cores.size());
  const std::uint64_t sum = std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});

  counts result;
  // NOLINTNEXTLINE(clang-analyzer-core.DivideZero): every group has a core, and every capacity is at least 1
  for (const std::uint64_t w : weights) result.push_back(static_cast<std::uint32_t>(total * w / sum));
  std::vector<std::size_t> by_remainder(groups.size());
  std::iota(by_remainder.begin(), by_remainder.end(), std::size_t{0});
  const auto remainder = [&](std::size_t g) { return total * weights[g] % sum; };
  std::ranges::sort(by_remainder, [&](std::size_t a, std::size_t b) {
    return std::pair(remainder(b), a) < std::pair(remainder(a), b);
  });
  const std::uint64_t dealt = std::accumulate(result.begin(), result.end(), std::uint64_t{0});
  for (std::size_t i = 0; i < total - dealt; ++i) ++result[by_remainder[i]];
  return result;
}

void check(const std::optional<std::uint32_t>& asked, const char* what) {
  if (!asked || (*asked > 0 && *asked <= worker_layout::largest)) return;
  throw topology_error(std::to_string(*asked) + " workers " + what + " were asked for; 1 to " +
                       std::to_string(worker_layout::largest) + " are possible");
}

counts count_workers(const topology& machine, const locality_groups& groups, const worker_options& options) {
  check(options.total, "in all");
  check(options.per_group, "per group");
  if (options.total) return by_capacity(groups, *options.total);
  if (!options.per_group) return automatic(machine, groups, options);
  const std::uint64_t sum = std::uint64_t{*options.per_group} * groups.size();
  if (sum > worker_layout::largest)
    throw topology_error(std::to_string(*options.per_group) + " workers in each of " +
                         std::to_string(groups.size()) + " groups make " + std::to_string(sum) +
                         "; at most " + std::to_string(worker_layout::largest) + " are possible");
  return counts(groups.size(), *options.per_group);
}

std::vector<std::optional<worker_id>> workers_by_cpu(const topology& machine,
                                                     const std::vector<worker_place>& workers) {
  std::vector<std::optional<worker_id>> by_core;
  std::vector<std::optional<worker_id>> by_cpu;
  const auto first_at = [](auto& table, std::uint32_t at, worker_id w) {
    if (at >= table.size()) table.resize(at + 1);
    if (!table[at]) table[at] = w;
  };
  for (const worker_place& w : workers) {
    first_at(by_cpu, w.cpu, w.id);
    first_at(by_core, w.core, w.id);
  }
  for (std::uint32_t core = 0; core < by_core.size(); ++core)
    if (by_core[core])
      for (const std::uint32_t cpu : machine.cores()[core].cpus.to_vector())
        first_at(by_cpu, cpu, *by_core[core]);
  return by_cpu;
}

} // namespace

worker_layout::worker_layout(const topology& machine, const locality_groups& groups,
                             const worker_options& options) {
  const counts wanted = count_workers(machine, groups, options);
  first_.push_back(0);
  for (const locality_group& g : groups.groups()) {
    const std::vector<seat> seats = seats_of(machine, g, options.smt);
    for (std::uint32_t i = 0; i < wanted[g.id.value]; ++i) {
      const seat& s = seats[i % seats.size()];
      workers_.push_back({{static_cast<std::uint32_t>(workers_.size())}, g.id, s.core, s.cpu});
    }
    first_.push_back(workers_.size());
  }
  at_cpu_ = workers_by_cpu(machine, workers_);
}

} // namespace corewise
