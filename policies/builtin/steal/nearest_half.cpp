#include "nearest_half.hpp"

#include "random_half.hpp"
#include "steal_round.hpp"

#include <algorithm>

// nearest_half: the thief's own domain first, then outward by level and distance.
//
// Inside the domain, which shares a cache, capacity decides and not the level: a task that waits for a slow
// core waits longest, and a fast core runs it soonest.
//
//   1. groups slower than the thief's, slowest first
//   2. the own group, then others of the same speed
//   3. faster groups: only workers with at least two tasks waiting. One task alone would be done sooner where
//      it is, unless its worker is in a blocking call. In a thorough round, the last before the thief parks,
//      the thief takes it all the same: it has waited as long as thieves spin, so the task before it may run
//      for long.
//
// So an idle P-core takes from the E-cores of its domain before it takes from other P-cores, and an E-core
// from other E-cores before it takes from a P-core. Outside the domain the order is the group's steal order:
// level, SLIT distance, next in number, so that thieves of different groups do not all begin with the same
// group.
//
// In each group the start is drawn. The thief looks at an injection queue of the domain before the workers of
// its group, since that relieves them; at a far injection queue after those workers, since they are about to
// run its tasks there.
//
// Rejected: levels inside the domain as well (a P-core would take from P-cores that are about to be done,
// while E-cores drown); never taking a single task from a faster core (the task is stranded when the task
// before it does not end, and the last look before parking, which sees it, would never let the thief sleep).
//
// Cost: two cache lines a worker until a worker has something, nearest first.

namespace corewise {
namespace {

class nearest_half final : public steal_policy {
 public:
  nearest_half(const locality_groups& groups, const worker_layout& workers)
      : groups_(groups),
        workers_(workers) {
    home_.reserve(groups.size());
    for (const locality_group& g : groups.groups()) home_.push_back(domain_order(groups, g));
  }

  std::string_view name() const noexcept override { return nearest_half_name; }

  bool visit(const load_view& loads, worker_id thief, placement_rng& rng, steal_effort effort,
             function_ref<bool(const steal_stop&)> try_steal) const noexcept override {
    const detail::steal_round round(groups_, loads, thief, try_steal);
    for (const group_id g : home_[round.home().value]) {
      if (round.at_injection(g)) return true;
      const bool faster = groups_[g].capacity > groups_[round.home()].capacity;
      if (at_workers(round, loads.board(g), g, rng, faster && effort == steal_effort::usual ? 2 : 1))
        return true;
    }
    for (const group_id g : groups_[round.home()].steal_order) {
      if (round.level_to(g) <= level::same_domain) continue;
      if (at_workers(round, loads.board(g), g, rng, 1) || round.at_injection(g)) return true;
    }
    return false;
  }

 private:
  /// The groups of g's domain in the order in which its workers visit them.
  static std::vector<group_id> domain_order(const locality_groups& groups, const locality_group& g) {
    std::vector<group_id> order;
    for (const group_id other : g.steal_order)
      if (groups.level_between(g.id, other) <= level::same_domain) order.push_back(other);
    std::ranges::stable_sort(order, {}, [&](group_id other) { return groups[other].capacity; });
    return order;
  }

  bool at_workers(const detail::steal_round& round, const group_board& board, group_id g, placement_rng& rng,
                  std::uint32_t least) const {
    const auto size = static_cast<std::uint32_t>(workers_.of_group(g).size());
    if (size == 0) return false;
    const std::uint32_t start = rng.below(size);
    for (std::uint32_t i = 0; i < size; ++i) {
      const std::uint32_t index = start + i < size ? start + i : start + i - size;
      const std::uint32_t enough = least > 1 && board.unavailable.test(index) ? 1 : least;
      if (round.at_worker(g, index, enough)) return true;
    }
    return false;
  }

  const locality_groups& groups_;
  const worker_layout& workers_;
  std::vector<std::vector<group_id>> home_; // by group
};

} // namespace

std::unique_ptr<steal_policy> make_nearest_half(const locality_groups& groups, const worker_layout& workers,
                                                steal_start start) {
  if (start == steal_start::random) return make_random_round(groups, nearest_half_name);
  return std::make_unique<nearest_half>(groups, workers);
}

} // namespace corewise
