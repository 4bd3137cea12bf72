#include "nearest_lightest_decision.hpp"

#include "hint_filter.hpp"
#include "reason.hpp"

// nearest_lightest by its steps 1 to 4 (nearest_lightest.cpp): own queue, idle nearby, near, far.

namespace corewise::detail {
namespace {

/// One worker that could be chosen.
struct offer {
  group_id group;
  std::uint32_t worker = 0;
  corewise::level level = level::same_group;
  std::uint32_t load = 0;
  double score = 0;
  double cost = std::numeric_limits<double>::infinity();
};

/// A worker of a group and its load.
struct loaded_worker {
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  std::uint32_t index = none;
  std::uint32_t load = none;

  explicit operator bool() const noexcept { return index != none; }
};

/// One question to the policy, on the caller's stack.
class decision {
 public:
  decision(const placing_facts& rule, const load_view& loads, const task_origin& origin,
           bool even_unavailable) noexcept
      : rule_(rule),
        loads_(loads),
        origin_(origin),
        even_unavailable_(even_unavailable),
        around_(rule.neighbourhoods[rule.by_group[origin.group.value].domain]),
        least_cost_outside_(rule.least_cost_outside[rule.by_group[origin.group.value].domain]) {
    if (loads.task_time_ns > spill_task_time_ns) {
      scaled_ = level_penalties(rule.weights.spill, loads.task_time_ns);
      penalties_ = &scaled_;
      least_cost_outside_ = least_cost_beyond(level::same_node);
    }
    if (origin.worker) near_penalty_ = penalty(level::same_domain);
  }
  decision(const decision&) = delete;
  decision& operator=(const decision&) = delete;

  /// Finds the cheapest of all workers. Returns whether any worker is available.
  bool find_cheapest() noexcept {
    consider_own();
    if (found_ && (loads_.task_time_ns < rule_.weights.keep_below_ns || own_queue_wins(best_.cost)))
      return true;
    if (!find_idle_nearby()) consider_near(nullptr);
    consider_far(nullptr);
    return found_;
  }

  /// Finds the cheapest worker that the hint allows. Returns whether any available worker fulfils the hint.
  bool find_cheapest_of(const placement_hint& hint) noexcept {
    if (hint.worker) {
      consider_named(hint);
    } else {
      if (origin_.worker && allows(hint, rule_.groups[origin_.group])) consider_own();
      consider_near(&hint);
      consider_far(&hint);
    }
    return found_;
  }

  /// The greatest load at which no other worker can beat the submitting worker.
  std::optional<std::uint32_t> max_load_kept_unasked() const noexcept {
    constexpr std::uint32_t enough = 64;
    std::uint32_t load = 0;
    const auto wins = [&](std::uint32_t l) {
      return own_queue_wins(score_of(rule_.weights.score, l, facts(origin_.group).capacity));
    };
    if (!wins(load)) return std::nullopt;
    while (load < enough && wins(load + 1)) ++load;
    return load;
  }

  /// The placement of the worker that the search found.
  placement answer(bool hinted) const noexcept {
    const bool own = origin_.worker && origin_.worker->value == best_.worker;
    const bool idle_fastest_at_home = best_.load == 0 && at_home(best_.group) &&
                                      facts(best_.group).capacity == facts(around_.near.front()).capacity;
    placement p{{best_.worker}, best_.group, best_.level,
                best_.score,    best_.cost,  reason_for(hinted, own, idle_fastest_at_home)};
    if (origin_.worker || hinted) return p;
    p.repeat = rule_.repeats(loads_.task_time_ns);
    if (p.repeat != 0 && origin_.cpu) prefer_own_core(*origin_.cpu, p);
    return p;
  }

 private:
  const group_facts& facts(group_id g) const noexcept { return rule_.by_group[g.value]; }
  double penalty(level l) const noexcept { return (*penalties_)[static_cast<std::size_t>(l)]; }
  double idle_cost_near(group_id g) const noexcept { return facts(g).idle_score + near_penalty_; }

  bool at_home(group_id g) const noexcept { return facts(g).domain == facts(origin_.group).domain; }
  bool is_own(group_id g) const noexcept { return origin_.worker && g == origin_.group; }

  level level_to(group_id g) const noexcept {
    if (at_home(g) && !origin_.worker) return level::same_group;
    return rule_.groups.level_between(origin_.group, g);
  }
  double score(group_id g, std::uint32_t load) const noexcept {
    if (is_exact(load_level(load))) return (*facts(g).scores)[load];
    return score_of(rule_.weights.score, load, facts(g).capacity);
  }

  bool available(group_id g, std::uint32_t index) const noexcept {
    return even_unavailable_ || !loads_.board(g).unavailable.test(index);
  }

  /// The offer of a group's worker. `consider_own` makes the submitting worker's own offer.
  offer offer_of(group_id g, const loaded_worker& s) const noexcept {
    offer o{g, facts(g).first_worker + s.index, level_to(g), s.load, score(g, s.load), 0};
    o.cost = o.score + (at_home(g) ? near_penalty_ : penalty(o.level));
    return o;
  }

  /// Replaces the chosen worker by the worker of the core that has `cpu`, if the chosen worker's level is not
  /// exact, and the other one is in the same group, is available, and has less than twice as many tasks.
  /// Reads levels only, which may be old: a look at the exact loads would take three lines from other cores.
  /// If the worker has more tasks than its level says, its inbox fills up, and thieves take half at a time. A
  /// function of its own, so that other answers save no registers for it.
  [[gnu::noinline]] void prefer_own_core(std::uint32_t cpu, placement& p) const noexcept {
    const group_board& board = loads_.board(p.group);
    const std::uint32_t first = facts(p.group).first_worker;
    const std::uint8_t chosen = board.levels.at(p.worker.value - first);
    if (is_exact(chosen)) return;
    const std::optional<worker_id> own = loads_.layout().at_cpu(cpu);
    if (!own || *own == p.worker || loads_.layout()[*own].group != p.group) return;
    const std::uint32_t index = own->value - first;
    const std::uint8_t level = board.levels.at(index);
    if (level >= chosen + levels_in_a_doubling || board.unavailable.test(index)) return;
    p.worker = *own;
    p.score = (*facts(p.group).scores)[level];
    p.cost = p.score + near_penalty_; // the own core is at home
    p.reason = placement_reason::own_core;
  }

  /// Returns whether a beats b where both are in the home domain; distance never differs there.
  bool better_near(const offer& a, const offer& b) const noexcept {
    if (a.cost != b.cost) return a.cost < b.cost;
    if (a.level != b.level) return a.level < b.level;
    if (facts(a.group).capacity != facts(b.group).capacity)
      return facts(a.group).capacity > facts(b.group).capacity;
    return a.worker < b.worker;
  }

  void take_if_better_near(const offer& o) noexcept {
    if (!found_ || better_near(o, best_)) take(o);
  }
  void take(const offer& o) noexcept {
    best_ = o;
    found_ = true;
  }

  // 1. own queue

  void consider_own() noexcept {
    if (!origin_.worker) return;
    const group_id g = origin_.group;
    const std::uint32_t index = origin_.worker->value - facts(g).first_worker;
    if (!available(g, index)) return;
    const std::uint32_t load = loads_.load(g, index).total();
    const double cost = score(g, load);
    take({g, origin_.worker->value, level::same_group, load, cost, cost});
  }

  bool own_queue_wins(double cost) const noexcept {
    return cost < idle_cost_near(around_.near.front()) && cost <= least_cost_outside_;
  }

  double least_cost_beyond(level from) const noexcept {
    return rule_.least_cost_beyond(around_, from, *penalties_);
  }

  // 2. idle nearby

  /// Takes an idle worker that no other worker of the domain can beat. Returns whether there was one.
  bool find_idle_nearby() noexcept {
    if (around_.near.empty()) return false;
    // Where scores do not tell the kinds apart (drain_time, count), the own group is as good, and nearer.
    if (is_own(origin_.group) && facts(origin_.group).idle_score == facts(around_.near.front()).idle_score &&
        take_idle_of(origin_.group, &group_board::spinning, &group_board::parked))
      return true;
    return take_idle_of_fastest(&group_board::spinning) || take_idle_of_fastest(&group_board::parked);
  }

  bool take_idle_of_fastest(worker_bits group_board::* idle) noexcept {
    for (std::size_t i = 0; i < around_.fastest; ++i)
      if (take_idle_of(around_.near[i], idle)) return true;
    return false;
  }

  template <class... Idle> bool take_idle_of(group_id g, Idle... idle) noexcept {
    for (worker_bits group_board::* bits : {idle...})
      if (const loaded_worker s = lowest_idle(g, loads_.board(g).*bits)) {
        take_if_better_near(offer_of(g, s));
        return true;
      }
    return false;
  }

  // 3. near, 4. far

  void consider_near(const placement_hint* hint) noexcept {
    for (const group_id g : around_.near) {
      if (hint != nullptr && !allows(*hint, rule_.groups[g])) continue;
      if (found_ && idle_cost_near(g) > best_.cost) continue;
      if (const loaded_worker s = lightest(g)) take_if_better_near(offer_of(g, s));
    }
  }

  /// Considers the groups out of the domain. `far` is in the order that decides ties, so the earlier offer
  /// stays when a later one costs the same.
  void consider_far(const placement_hint* hint) noexcept {
    if (found_ && best_.cost <= least_cost_outside_) return;
    for (auto l = static_cast<std::size_t>(level::same_node); l < level_count; ++l) {
      if (found_ && best_.cost <= least_cost_beyond(static_cast<level>(l))) return;
      for (std::size_t i = around_.begin[l]; i < around_.begin[l + 1]; ++i) {
        const group_id g = around_.far[i];
        if (found_ && best_.cost <= facts(g).idle_score + (*penalties_)[l])
          break; // the rest have no more capacity
        if (found_ && best_.cost <= least_cost_of(g) + (*penalties_)[l]) continue;
        if (hint != nullptr && !allows(*hint, rule_.groups[g])) continue;
        consider_far_group(g);
      }
    }
  }

  /// The cost of g's lightest worker from here, as far as the group's level tells.
  double least_cost_of(group_id g) const noexcept {
    if (loads_.group_levels == nullptr) return facts(g).idle_score;
    return (*facts(g).scores)[loads_.group_levels->at(g.value)];
  }

  void consider_far_group(group_id g) noexcept {
    const loaded_worker s = lightest(g);
    if (!s) return;
    const offer o = offer_of(g, s);
    if (!found_ || o.cost < best_.cost) take(o);
  }

  void consider_named(const placement_hint& hint) noexcept {
    const worker_layout& layout = loads_.layout();
    if (hint.worker->value >= layout.size()) return;
    const group_id g = layout[*hint.worker].group;
    if (!allows(hint, rule_.groups[g])) return;
    if (hint.worker == origin_.worker) return consider_own();
    const std::uint32_t index = hint.worker->value - facts(g).first_worker;
    if (available(g, index)) take(offer_of(g, {index, loads_.load(g, index).total()}));
  }

  // One group

  /// The workers not to choose among workers 64w to 64w + 63 of g: the unavailable ones, and the submitting
  /// worker, which makes an offer of its own.
  std::uint64_t excluded(group_id g, std::size_t w) const noexcept {
    std::uint64_t bits = even_unavailable_ ? 0 : loads_.board(g).unavailable.word(w);
    if (is_own(g)) {
      const std::uint32_t own = origin_.worker->value - facts(g).first_worker;
      if (own / 64 == w) bits |= std::uint64_t{1} << (own % 64);
    }
    return bits;
  }

  /// The lowest worker whose bit says idle and whose level says that nothing waits for it. A sleeper may have
  /// tasks that a thief is about to take: tasks that were sent to it while another worker was searching.
  loaded_worker lowest_idle(group_id g, const worker_bits& idle) const noexcept {
    const group_board& board = loads_.board(g);
    for (std::uint32_t first = 0; first < idle.size(); first += 64) {
      std::uint64_t left = idle.word(first / 64);
      if (left == 0) continue;
      for (left &= ~excluded(g, first / 64); left != 0; left &= left - 1) {
        const std::uint32_t index = first + static_cast<std::uint32_t>(std::countr_zero(left));
        if (board.levels.at(index) == 0) return {index, 0};
      }
    }
    return {};
  }

  /// The lightest available worker: an idle one, else the lowest of those with the least load.
  loaded_worker lightest(group_id g) const noexcept {
    const group_board& board = loads_.board(g);
    if (const loaded_worker s = lowest_idle(g, board.spinning)) return s;
    if (const loaded_worker s = lowest_idle(g, board.parked)) return s;
    return lightest_by_load(g, board);
  }

  loaded_worker lightest_by_load(group_id g, const group_board& board) const noexcept {
    load_levels::least least;
    std::uint32_t first = 0;
    for (std::uint32_t at = 0; at < facts(g).workers; at += 64) {
      const load_levels::least here = board.levels.least_of(at / 64, excluded(g, at / 64));
      if (here.level >= least.level) continue;
      least = here;
      first = at;
      if (least.level == 0) break;
    }
    if (least.level == load_levels::no_worker) return {};
    const auto lowest = first + static_cast<std::uint32_t>(std::countr_zero(least.workers));
    if (is_exact(least.level)) return {lowest, least.level};
    return lightest_by_entry(g, board);
  }

  /// The lightest worker where the least level stands for several loads: compares the board entries of the
  /// workers that have that level.
  loaded_worker lightest_by_entry(group_id g, const group_board& board) const noexcept {
    loaded_worker least;
    for (std::uint32_t first = 0; first < facts(g).workers; first += 64) {
      const load_levels::least here = board.levels.least_of(first / 64, excluded(g, first / 64));
      for (std::uint64_t left = here.workers; left != 0; left &= left - 1) {
        const std::uint32_t index = first + static_cast<std::uint32_t>(std::countr_zero(left));
        const std::uint32_t load = loads_.load(board.entries[index]).total();
        if (load < least.load) least = {index, load};
      }
    }
    return least;
  }

  const placing_facts& rule_;
  const load_view& loads_;
  const task_origin& origin_;
  bool even_unavailable_;
  const neighbourhood& around_;
  penalties scaled_; // of tasks that take longer than 50 us
  const penalties* penalties_ = &rule_.full_penalties;
  double least_cost_outside_;
  double near_penalty_ = 0; // of all workers in the domain but the submitting one
  offer best_;
  bool found_ = false;
};

} // namespace

placement place_by_decision(const placing_facts& rule, const load_view& loads, const task_origin& origin,
                            const placement_hint& hint) noexcept {
  for (const bool even_unavailable : {false, true}) {
    if (!hint.empty()) {
      decision among_wished(rule, loads, origin, even_unavailable);
      if (among_wished.find_cheapest_of(hint)) return among_wished.answer(true);
    }
    decision among_all(rule, loads, origin, even_unavailable);
    if (among_all.find_cheapest()) return among_all.answer(false);
  }
  return {}; // a layout without workers does not exist
}

std::optional<std::uint32_t> max_load_that_wins(const placing_facts& rule, const load_view& loads,
                                                const task_origin& origin) noexcept {
  return decision(rule, loads, origin, false).max_load_kept_unasked();
}

} // namespace corewise::detail
