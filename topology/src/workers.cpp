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

/// A quota's workers may become so many times as many without a restart.
constexpr double automatic_headroom = 4;

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

/// Returns how many workers the allowed CPUs of a group take.
std::uint32_t seat_count(const topology& machine, const locality_group& group, smt_use smt,
                         const cpu_set& allowed) {
  if (smt == smt_use::all) return static_cast<std::uint32_t>((group.cpus & allowed).size());
  return static_cast<std::uint32_t>(std::ranges::count_if(
      group.cores, [&](std::uint32_t c) { return machine.cores()[c].cpus.intersects(allowed); }));
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

/// Gives each seat one worker, but not more than `most` in all.
counts automatic(const topology& machine, const locality_groups& groups, const worker_options& options,
                 const cpu_set& allowed, double most) {
  const group_id start = groups.group_of_cpu(options.start_cpu.value_or(0)).value_or(group_id{});
  counts result(groups.size(), 0);
  for (const group_id g : filling_order(groups, start)) {
    const std::uint32_t seats = seat_count(machine, groups[g], options.smt, allowed);
    result[g.value] = static_cast<std::uint32_t>(std::min<double>(seats, most));
    most -= result[g.value];
  }
  return result;
}

/// Returns the most workers that a part of a quota lets run. A product that rounding has left above a whole number is that.
double most_by(const std::optional<double>& quota, double part) {
  return quota ? std::max(1.0, std::ceil(*quota * part - 1e-9)) : static_cast<double>(worker_layout::largest);
}

/// Deals `total` in proportion to capacity × cores. The rest that rounding leaves goes to the largest remainders; of
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

/// Gives each group as many as were asked for.
counts by_group(const locality_groups& groups, std::uint32_t each) {
  const std::uint64_t sum = std::uint64_t{each} * groups.size();
  if (sum > worker_layout::largest)
    throw topology_error(std::to_string(each) + " workers in each of " + std::to_string(groups.size()) +
                         " groups make " + std::to_string(sum) + "; at most " +
                         std::to_string(worker_layout::largest) + " are possible");
  return counts(groups.size(), each);
}

/// Returns how many seats each group has: its workers at the start, and its part of the headroom.
counts count_seats(const topology& machine, const locality_groups& groups, const worker_options& options,
                   std::uint32_t at_begin) {
  counts seats;
  const std::uint32_t more = options.headroom.value_or(0);
  if (options.total)
    seats = by_capacity(
        groups, std::min<std::uint64_t>(std::uint64_t{*options.total} + more, worker_layout::largest));
  else if (options.per_group)
    seats = by_group(groups, *options.per_group + (more + static_cast<std::uint32_t>(groups.size()) - 1) /
                                                      static_cast<std::uint32_t>(groups.size()));
  else {
    const double begun = at_begin;
    double most = begun + more;
    if (options.headroom != 0U) most = std::max(most, begun * automatic_headroom);
    seats = automatic(machine, groups, options, machine.cpus(), most);
  }
  return seats;
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

std::vector<std::uint32_t> worker_counts(const topology& machine, const locality_groups& groups,
                                         const worker_options& options, const host_allowance& allowed) {
  check(options.total, "in all");
  check(options.per_group, "per group");
  const bool elsewhere = !allowed.cpus.intersects(machine.cpus());
  const cpu_set& cpus = elsewhere ? machine.cpus() : allowed.cpus;
  if (!options.total && !options.per_group) {
    std::optional<double> quota = allowed.quota_cpus;
    if (elsewhere && !allowed.cpus.empty()) { // the workers run there, as many as there is room for
      const auto room = static_cast<double>(allowed.cpus.size());
      quota = std::min(quota.value_or(room), room);
    }
    return automatic(machine, groups, options, cpus, most_by(quota, options.quota_part));
  }
  counts result = options.total ? by_capacity(groups, *options.total) : by_group(groups, *options.per_group);
  for (const locality_group& g : groups.groups())
    if (!g.cpus.intersects(cpus)) result[g.id.value] = 0;
  return result;
}

worker_layout::worker_layout(const topology& machine, const locality_groups& groups,
                             const worker_options& options)
    : at_begin_(worker_counts(machine, groups, options, {machine.cpus(), {}, machine.limits().quota_cpus})) {
  all_at_begin_ = std::accumulate(at_begin_.begin(), at_begin_.end(), std::uint32_t{0});
  counts wanted = count_seats(machine, groups, options, all_at_begin_);
  // A total is dealt in proportion, and rounding may give a group one less of a larger one.
  for (std::size_t g = 0; g < wanted.size(); ++g) wanted[g] = std::max(wanted[g], at_begin_[g]);
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
