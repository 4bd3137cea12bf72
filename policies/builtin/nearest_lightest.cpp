#include "nearest_lightest.hpp"

#include "nearest_lightest_decision.hpp"
#include "reason.hpp"

#include <corewise/policies/reference.hpp>

// nearest_lightest: the worker that costs least, where distance costs too.
//
// The rule is that of `place_by_trying_all`, and so is the answer whenever loads stand still. The speed comes
// from knowing when to stop: an idle worker is the least that a group can offer, so the policy skips a group
// (or all groups further out) whose idle worker could not win.
//
//   0. from outside the lightest of the home domain, if it is idle and of the fastest kind, or no worker
//                   outside could win: nearly always, so this has a short way of its own, without the steps
//                   below
//   1. own queue    a worker that costs itself less than any other could, or whose tasks are too short to be
//                   worth a look: one board entry is read
//   2. idle nearby  an idle worker of the domain's fastest kind: a line of each group is read
//   3. near         the groups of the domain, each its lightest worker
//   4. far          outward by level, while the lightest out there could win
//
// This file has step 0, `nearest_lightest_decision.cpp` has the others.
//
// One cache line of up to 16 workers says which of them are idle, which are unavailable, and what level of
// load each has. The policy reads board entries only of workers that have the least level, and only where that
// level stands for several loads.
//
// Of workers that cost the same and differ in nothing but their number, the reference takes the lowest. Here
// those whose idle bit is set come first, spinning ones before parked ones, because waking them costs less
// than waking a worker might that is just between two tasks. That is the only difference.
//
// Short tasks from outside prefer the worker of the submitter's core (`prefer_own_core`): where the worker
// that the steps above have chosen has 16 tasks or more, queues of the group within a factor of two count as
// equal. Two threads that submit at once are on two cores, so they do not meet at one worker's inbox (ADR
// 0036).

namespace corewise {
namespace {

using detail::group_facts;
using detail::neighbourhood;

class nearest_lightest final : public policy {
 public:
  nearest_lightest(const locality_groups& groups, const worker_layout& workers,
                   const dispatch_weights& weights)
      : facts_(groups, workers, weights) {}

  std::string_view name() const noexcept override { return nearest_lightest_name; }

  /// Places a task. Cost: one board entry when the own queue is cheapest; a cache line for each cut of the
  /// domain's fastest kind when a worker of that kind is idle; else a cache line for each group of the
  /// domain, a byte for each group outward while its level could win, and the board entries of workers whose
  /// level does not tell which is lighter (16 tasks and more).
  [[gnu::hot]] placement place(const load_view& loads, const task_origin& origin, const placement_hint& hint,
                               placement_rng& rng, placement_cursor& cursor) const noexcept override;

  std::optional<std::uint32_t> max_load_kept_unasked(const load_view& loads,
                                                     const task_origin& origin) const noexcept override {
    if (loads.task_time_ns < facts_.weights.keep_below_ns) return std::numeric_limits<std::uint32_t>::max();
    return detail::max_load_that_wins(facts_, loads, origin);
  }

  std::string_view score_unit() const noexcept override { return "tasks of the fastest kind"; }

  std::vector<considered> consider(const load_view& loads, const task_origin& origin,
                                   const placement_hint& hint, placement_rng /*rng*/,
                                   placement_cursor /*cursor*/) const override {
    return consider_groups(facts_.groups, loads, facts_.weights, origin, hint);
  }

 private:
  bool place_on_idle(const load_view& loads, const neighbourhood& around, placement& p) const noexcept;
  bool place_on_lightest(const load_view& loads, const neighbourhood& around, placement& p) const noexcept;
  bool might_win_outside(const load_view& loads, const neighbourhood& around, double cost) const noexcept;
  bool place_at_home(const load_view& loads, group_id home, placement& p) const noexcept;

  detail::placing_facts facts_;
};

/// The lowest of 64 workers of a group, from index `first` on, whose bit is set and whose level is 0; `no_worker` if
/// there is none.
constexpr std::uint32_t no_worker = std::numeric_limits<std::uint32_t>::max();
std::uint32_t lowest_with_nothing(const load_levels& levels, std::uint32_t first,
                                  std::uint64_t workers) noexcept {
  for (; workers != 0; workers &= workers - 1) {
    const std::uint32_t index = first + static_cast<std::uint32_t>(std::countr_zero(workers));
    if (levels.at(index) == 0) return index;
  }
  return no_worker;
}

/// Places a task from outside on an idle worker of the home domain's fastest kind, a spinning one before all
/// parked ones.
bool nearest_lightest::place_on_idle(const load_view& loads, const neighbourhood& around,
                                     placement& p) const noexcept {
  std::uint32_t parked = no_worker;
  group_id group;
  const auto found = [&](group_id g, std::uint32_t index) {
    const group_facts& facts = facts_.by_group[g.value];
    p.worker = worker_id{facts.first_worker + index};
    p.group = g;
    p.score = p.cost = facts.idle_score;
    p.reason = placement_reason::idle_nearby;
    return true;
  };
  for (std::size_t i = 0; i < around.fastest; ++i) {
    const group_id g = around.near[i];
    const group_board& board = loads.board(g);
    const auto workers = static_cast<std::uint32_t>(board.parked.size());
    for (std::uint32_t first = 0; first < workers; first += 64) {
      const std::uint64_t spinning = board.spinning.word(first / 64);
      const std::uint64_t asleep = board.parked.word(first / 64);
      if ((spinning | asleep) == 0) continue;
      const std::uint64_t available = ~board.unavailable.word(first / 64);
      if (const std::uint32_t index = lowest_with_nothing(board.levels, first, spinning & available);
          index != no_worker)
        return found(g, index);
      if (parked != no_worker) continue;
      parked = lowest_with_nothing(board.levels, first, asleep & available);
      group = g;
    }
  }
  return parked != no_worker && found(group, parked);
}

/// Places a task from outside on the lightest worker of the home domain. Returns false if no worker is
/// available, or if the levels do not tell which is the lightest.
bool nearest_lightest::place_on_lightest(const load_view& loads, const neighbourhood& around,
                                         placement& p) const noexcept {
  p.cost = std::numeric_limits<double>::infinity();
  for (const group_id g : around.near) {
    const group_facts& facts = facts_.by_group[g.value];
    const group_board& board = loads.board(g);
    for (std::uint32_t first = 0; first < facts.workers; first += 64) {
      const load_levels::least least = board.levels.least_of(first / 64, board.unavailable.word(first / 64));
      const double cost = (*facts.scores)[least.level];
      if (cost >= p.cost) continue;
      if (!is_exact(least.level)) return false;
      p.worker =
          worker_id{facts.first_worker + first + static_cast<std::uint32_t>(std::countr_zero(least.workers))};
      p.group = g;
      p.score = p.cost = cost;
      const bool fastest = facts.capacity == facts_.by_group[around.near.front().value].capacity;
      p.reason = detail::reason_for(false, false, least.level == 0 && fastest);
    }
  }
  return p.cost != std::numeric_limits<double>::infinity();
}

/// Returns whether a worker outside the domain might cost less, as far as the groups' levels tell; with full
/// penalties.
bool nearest_lightest::might_win_outside(const load_view& loads, const neighbourhood& around,
                                         double cost) const noexcept {
  if (loads.group_levels == nullptr) return true;
  for (auto l = static_cast<std::size_t>(level::same_node); l < level_count; ++l)
    for (std::size_t i = around.begin[l]; i < around.begin[l + 1]; ++i) {
      const std::uint32_t g = around.far[i].value;
      if (cost <= facts_.by_group[g].idle_score + facts_.full_penalties[l])
        break; // the rest have no more capacity
      if ((*facts_.by_group[g].scores)[loads.group_levels->at(g)] + facts_.full_penalties[l] < cost)
        return true;
    }
  return false;
}

/// Places a task from outside at home, with full penalties. Returns false if the levels do not tell, or if a
/// worker outside the domain might win.
bool nearest_lightest::place_at_home(const load_view& loads, group_id home, placement& p) const noexcept {
  const std::uint32_t domain = facts_.by_group[home.value].domain;
  const neighbourhood& around = facts_.neighbourhoods[domain];
  if (!place_on_idle(loads, around, p) && !place_on_lightest(loads, around, p)) return false;
  if (p.cost > facts_.least_cost_outside[domain] && might_win_outside(loads, around, p.cost)) return false;
  p.repeat = facts_.repeats(loads.task_time_ns);
  return true;
}

placement nearest_lightest::place(const load_view& loads, const task_origin& origin,
                                  const placement_hint& hint, placement_rng& /*rng*/,
                                  placement_cursor& /*cursor*/) const noexcept {
  placement p;
  const bool plain = !origin.worker && hint.empty() && loads.task_time_ns <= spill_task_time_ns;
  if (!plain || !place_at_home(loads, origin.group, p))
    p = detail::place_by_decision(facts_, loads, origin, hint);
  return p;
}

} // namespace

std::unique_ptr<policy> make_nearest_lightest(const locality_groups& groups, const worker_layout& workers,
                                              const dispatch_weights& weights) {
  return std::make_unique<nearest_lightest>(groups, workers, weights);
}

} // namespace corewise
