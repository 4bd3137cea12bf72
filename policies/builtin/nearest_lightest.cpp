#include "nearest_lightest.hpp"

#include "hint_filter.hpp"
#include "neighbourhood.hpp"
#include "reason.hpp"

#include <corewise/policies/reference.hpp>
#include <corewise/policies/score.hpp>

#include <algorithm>
#include <limits>

// nearest_lightest: the worker that costs least, where distance costs too.
//
// The rule is that of `place_by_trying_all`, and so is the answer whenever loads stand still. What is fast
// here is knowing when to stop: an idle worker is the least that a group can offer, so a group (or all that
// is further out) whose idle worker could not win is not looked at.
//
//   1. own queue    a worker that costs itself less than anybody could, or whose tasks are too short to be worth a
//                   look: one slot is read
//   2. idle nearby  an idle worker of the domain's fastest kind: two words a group and its slot are read
//   3. near         the groups of the domain, each its lightest worker
//   4. far          outward by level, while an idle worker out there could win
//
// Of workers that cost the same and differ in nothing but their number, the reference takes the lowest. Here
// those whose idle bit is set come first, spinning ones before parked ones, because waking them costs less
// than a worker that is just between two tasks might. That is the only difference.

namespace corewise {
namespace {

using detail::neighbourhood;
using penalties = std::array<double, level_count>;

/// What never changes about a group.
struct group_facts {
  std::uint32_t first_worker = 0;
  std::uint32_t workers = 0;
  std::uint32_t capacity = full_capacity;
  std::uint32_t domain = 0;
  double idle_score = 0;
};

/// One worker that could be chosen.
struct offer {
  group_id group;
  std::uint32_t worker = 0;
  corewise::level level = level::same_group;
  std::uint32_t load = 0;
  double score = 0;
  double cost = std::numeric_limits<double>::infinity();
};

/// A place in a group and the load found there.
struct seat {
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  std::uint32_t place = none;
  std::uint32_t load = none;

  explicit operator bool() const noexcept { return place != none; }
};

class nearest_lightest final : public policy {
 public:
  nearest_lightest(const locality_groups& groups, const worker_layout& workers,
                   const dispatch_weights& weights)
      : groups_(groups),
        weights_(weights),
        around_(detail::neighbourhoods_of(groups, workers)) {
    facts_.reserve(groups.size());
    for (const locality_group& g : groups.groups()) {
      const auto members = workers.of_group(g.id);
      facts_.push_back({members.empty() ? 0 : members.front().id.value,
                        static_cast<std::uint32_t>(members.size()), g.capacity, g.domain,
                        score_of(weights.score, 0, g.capacity)});
    }
  }

  std::string_view name() const noexcept override { return nearest_lightest_name; }

  /// Cost: one slot when the own queue is cheapest, two words for each cut of the domain's fastest kind when
  /// somebody of it is idle, else two cache lines for each worker of the domain, and outward as far as
  /// somebody could win.
  placement place(const load_view& loads, const task_origin& origin, const placement_hint& hint,
                  placement_rng& rng, placement_cursor& cursor) const noexcept override;

  std::optional<std::uint32_t> keeps_up_to(const load_view& loads,
                                           const task_origin& origin) const noexcept override;

  std::string_view score_unit() const noexcept override { return "tasks of the fastest kind"; }

  std::vector<considered> consider(const load_view& loads, const task_origin& origin,
                                   const placement_hint& hint, placement_rng /*rng*/,
                                   placement_cursor /*cursor*/) const override {
    return consider_groups(groups_, loads, weights_, origin, hint);
  }

 private:
  friend class decision;

  const locality_groups& groups_;
  dispatch_weights weights_;
  std::vector<group_facts> facts_;    // by group
  std::vector<neighbourhood> around_; // by domain
};

/// One question to the policy, on the stack of the one who asks.
class decision {
 public:
  decision(const nearest_lightest& rule, const load_view& loads, const task_origin& origin,
           bool even_unavailable) noexcept
      : rule_(rule),
        loads_(loads),
        origin_(origin),
        even_unavailable_(even_unavailable),
        around_(rule.around_[rule.facts_[origin.group.value].domain]),
        penalties_(level_penalties(rule.weights_.spill, loads.task_time_ns)),
        near_penalty_(origin.worker ? penalty(level::same_domain) : 0.0) {}

  /// Finds the cheapest of all; answers whether anybody is available.
  bool find_cheapest() noexcept {
    consider_own();
    if (found_ && (loads_.task_time_ns < rule_.weights_.keep_below_ns || own_queue_wins(best_.cost)))
      return true;
    if (!find_idle_nearby()) consider_near(nullptr);
    consider_far(nullptr);
    return found_;
  }

  /// Finds the cheapest that the hint allows; answers whether anybody available fulfils it.
  bool find_cheapest_of(const placement_hint& hint) noexcept {
    if (hint.worker) {
      consider_named(hint);
    } else {
      if (origin_.worker && detail::allows(hint, rule_.groups_[origin_.group])) consider_own();
      consider_near(&hint);
      consider_far(&hint);
    }
    return found_;
  }

  /// The greatest load at which the submitting worker cannot be beaten.
  std::optional<std::uint32_t> keeps_up_to() const noexcept {
    constexpr std::uint32_t enough = 64;
    std::uint32_t load = 0;
    const auto wins = [&](std::uint32_t l) {
      return own_queue_wins(score_of(rule_.weights_.score, l, facts(origin_.group).capacity));
    };
    if (!wins(load)) return std::nullopt;
    while (load < enough && wins(load + 1)) ++load;
    return load;
  }

  /// Whom it found.
  placement answer(bool hinted) const noexcept {
    const bool own = origin_.worker && origin_.worker->value == best_.worker;
    const bool idle_fastest_at_home = best_.load == 0 && at_home(best_.group) &&
                                      facts(best_.group).capacity == facts(around_.near.front()).capacity;
    placement p{{best_.worker}, best_.group, best_.level,
                best_.score,    best_.cost,  detail::reason_for(hinted, own, idle_fastest_at_home)};
    if (!origin_.worker && !hinted) p.repeat = repeats();
    return p;
  }

 private:
  const group_facts& facts(group_id g) const noexcept { return rule_.facts_[g.value]; }
  double penalty(level l) const noexcept { return penalties_[static_cast<std::size_t>(l)]; }
  double idle_cost_near(group_id g) const noexcept { return facts(g).idle_score + near_penalty_; }

  /// A task that follows unasked waits behind those before it: 2 us at most, as far as tasks are as short as they were.
  std::uint32_t repeats() const noexcept {
    if (rule_.weights_.keep_below_ns == 0) return 0;
    constexpr std::uint64_t wait_ns = 2000;
    constexpr std::uint64_t most = 16;
    return static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(wait_ns / std::max<std::uint64_t>(loads_.task_time_ns, 1), 1, most) - 1);
  }

  bool at_home(group_id g) const noexcept { return facts(g).domain == facts(origin_.group).domain; }
  bool is_own(group_id g) const noexcept { return origin_.worker && g == origin_.group; }

  level level_to(group_id g) const noexcept {
    if (at_home(g) && !origin_.worker) return level::same_group;
    return rule_.groups_.level_between(origin_.group, g);
  }

  bool available(group_id g, std::uint32_t place) const noexcept {
    return even_unavailable_ || !loads_.board(g).unavailable.test(place);
  }

  /// The offer of a group's worker; the submitting worker's own is made by `consider_own`.
  offer offer_of(group_id g, const seat& s) const noexcept {
    offer o{g, facts(g).first_worker + s.place, level_to(g), s.load, 0, 0};
    o.score = s.load == 0 ? facts(g).idle_score : score_of(rule_.weights_.score, s.load, facts(g).capacity);
    o.cost = o.score + (at_home(g) ? near_penalty_ : penalty(o.level));
    return o;
  }

  /// Whether a beats b where both are in the home domain; distance never differs there.
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
    const std::uint32_t place = origin_.worker->value - facts(g).first_worker;
    if (!available(g, place)) return;
    const std::uint32_t load = loads_.load(g, place).total();
    const double score = score_of(rule_.weights_.score, load, facts(g).capacity);
    take({g, origin_.worker->value, level::same_group, load, score, score});
  }

  bool own_queue_wins(double cost) const noexcept {
    return cost < idle_cost_near(around_.near.front()) && cost <= least_cost_beyond(level::same_node);
  }

  /// What nobody at this level or further out undercuts; infinite where there is nobody.
  double least_cost_beyond(level from) const noexcept {
    double least = std::numeric_limits<double>::infinity();
    for (auto l = static_cast<std::size_t>(from); l < level_count; ++l)
      if (around_.begin[l] != around_.begin[l + 1])
        least = std::min(least, facts(around_.far[around_.begin[l]]).idle_score + penalties_[l]);
    return least;
  }

  // 2. idle nearby

  /// Takes an idle worker that nobody else of the domain can beat, if there is one; answers whether there
  /// was.
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
      if (const seat s = lowest_idle(g, loads_.board(g).*bits)) {
        take_if_better_near(offer_of(g, s));
        return true;
      }
    return false;
  }

  // 3. near, 4. far

  void consider_near(const placement_hint* hint) noexcept {
    for (const group_id g : around_.near) {
      if (hint != nullptr && !detail::allows(*hint, rule_.groups_[g])) continue;
      if (found_ && idle_cost_near(g) > best_.cost) continue;
      if (const seat s = lightest(g)) take_if_better_near(offer_of(g, s));
    }
  }

  /// `far` is in the order that decides ties, so what was found earlier stays when something costs the same.
  void consider_far(const placement_hint* hint) noexcept {
    for (auto l = static_cast<std::size_t>(level::same_node); l < level_count; ++l) {
      if (found_ && best_.cost <= least_cost_beyond(static_cast<level>(l))) return;
      for (std::size_t i = around_.begin[l]; i < around_.begin[l + 1]; ++i) {
        const group_id g = around_.far[i];
        if (found_ && best_.cost <= facts(g).idle_score + penalties_[l])
          break; // the rest have no more capacity
        if (hint != nullptr && !detail::allows(*hint, rule_.groups_[g])) continue;
        consider_far_group(g);
      }
    }
  }

  void consider_far_group(group_id g) noexcept {
    const seat s = lightest(g);
    if (!s) return;
    const offer o = offer_of(g, s);
    if (!found_ || o.cost < best_.cost) take(o);
  }

  void consider_named(const placement_hint& hint) noexcept {
    const worker_layout& layout = loads_.layout();
    if (hint.worker->value >= layout.size()) return;
    const group_id g = layout[*hint.worker].group;
    if (!detail::allows(hint, rule_.groups_[g])) return;
    if (hint.worker == origin_.worker) return consider_own();
    const std::uint32_t place = hint.worker->value - facts(g).first_worker;
    if (available(g, place)) take(offer_of(g, {place, loads_.load(g, place).total()}));
  }

  // One group

  /// Whom not to choose among workers 64w to 64w + 63 of g: the unavailable, and the submitting worker, which
  /// makes an offer of its own.
  std::uint64_t excluded(group_id g, std::size_t w) const noexcept {
    std::uint64_t bits = even_unavailable_ ? 0 : loads_.board(g).unavailable.word(w);
    if (is_own(g)) {
      const std::uint32_t own = origin_.worker->value - facts(g).first_worker;
      if (own / 64 == w) bits |= std::uint64_t{1} << (own % 64);
    }
    return bits;
  }

  /// The lowest worker whose bit says idle and who has nothing: a sleeper may be about to be robbed of what was sent
  /// to it while somebody else was searching.
  seat lowest_idle(group_id g, const worker_bits& idle) const noexcept {
    const group_board& board = loads_.board(g);
    for (std::uint32_t first = 0; first < idle.size(); first += 64) {
      std::uint64_t left = idle.word(first / 64);
      if (left == 0) continue;
      for (left &= ~excluded(g, first / 64); left != 0; left &= left - 1) {
        const std::uint32_t place = first + static_cast<std::uint32_t>(std::countr_zero(left));
        if (loads_.load(board.slots[place]).total() == 0) return {place, 0};
      }
    }
    return {};
  }

  /// The lightest available worker: an idle one, else the lowest of those with the least load.
  seat lightest(group_id g) const noexcept {
    const group_board& board = loads_.board(g);
    if (const seat s = lowest_idle(g, board.spinning)) return s;
    if (const seat s = lowest_idle(g, board.parked)) return s;
    return lightest_by_load(g, board);
  }

  seat lightest_by_load(group_id g, const group_board& board) const noexcept {
    seat least;
    for (std::uint32_t first = 0; first < facts(g).workers; first += 64) {
      const std::uint32_t count = std::min(facts(g).workers - first, 64U);
      std::uint64_t left = (~std::uint64_t{0} >> (64 - count)) & ~excluded(g, first / 64);
      for (; left != 0; left &= left - 1) {
        const std::uint32_t place = first + static_cast<std::uint32_t>(std::countr_zero(left));
        const std::uint32_t load = loads_.load(board.slots[place]).total();
        if (load < least.load) least = {place, load};
        if (load == 0) return least;
      }
    }
    return least;
  }

  const nearest_lightest& rule_;
  const load_view& loads_;
  const task_origin& origin_;
  bool even_unavailable_;
  const neighbourhood& around_;
  penalties penalties_;
  double near_penalty_; // of everybody in the domain but the submitting worker itself
  offer best_;
  bool found_ = false;
};

placement nearest_lightest::place(const load_view& loads, const task_origin& origin,
                                  const placement_hint& hint, placement_rng& /*rng*/,
                                  placement_cursor& /*cursor*/) const noexcept {
  for (const bool even_unavailable : {false, true}) {
    if (!hint.empty()) {
      decision among_wished(*this, loads, origin, even_unavailable);
      if (among_wished.find_cheapest_of(hint)) return among_wished.answer(true);
    }
    decision among_all(*this, loads, origin, even_unavailable);
    if (among_all.find_cheapest()) return among_all.answer(false);
  }
  return {}; // a layout without workers does not exist
}

std::optional<std::uint32_t> nearest_lightest::keeps_up_to(const load_view& loads,
                                                           const task_origin& origin) const noexcept {
  if (loads.task_time_ns < weights_.keep_below_ns) return std::numeric_limits<std::uint32_t>::max();
  return decision(*this, loads, origin, false).keeps_up_to();
}

} // namespace

std::unique_ptr<policy> make_nearest_lightest(const locality_groups& groups, const worker_layout& workers,
                                              const dispatch_weights& weights) {
  return std::make_unique<nearest_lightest>(groups, workers, weights);
}

} // namespace corewise
