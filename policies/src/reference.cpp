#include "hint_filter.hpp"
#include "reason.hpp"

#include <corewise/policies/reference.hpp>
#include <corewise/policies/score.hpp>

#include <tuple>

namespace corewise {
namespace {

/// The reasons to leave a worker out: a blocking call, and the hint.
struct admission {
  bool hinted = false;
  bool even_unavailable = false;
};

/// One worker with all facts that the rule asks about it.
struct offer {
  worker_id worker;
  group_id group;
  corewise::level level = level::same_group;
  std::uint32_t load = 0;
  std::uint32_t capacity = full_capacity;
  std::uint32_t distance = 0;
  double score = 0;
  double penalty = 0;

  double cost() const noexcept { return score + penalty; }
};

bool better(const offer& a, const offer& b) noexcept {
  // The capacities stand crosswise, since the higher one wins.
  const double a_cost = a.cost();
  const double b_cost = b.cost();
  return std::tie(a_cost, a.level, b.capacity, a.distance, a.worker) <
         std::tie(b_cost, b.level, a.capacity, b.distance, b.worker);
}

/// How many tasks may follow one from outside unasked: as many as take 2 us together with it, 16 at most with
/// it. None where workers do not steal.
std::uint32_t repeats(const dispatch_weights& weights, std::uint64_t task_time_ns) noexcept {
  if (weights.keep_below_ns == 0) return 0;
  std::uint32_t tasks = 1;
  while (tasks < 16 && task_time_ns <= 2000 / (tasks + 1)) ++tasks;
  return tasks - 1;
}

/// A load as its level shows it: rounded down to four binary digits.
std::uint32_t as_shown(std::uint32_t load) noexcept {
  std::uint32_t step = 1;
  while (load / step >= 16) step *= 2;
  return load / step * step;
}

/// A question to the rule, with the offer of every worker.
class weighing {
 public:
  weighing(const locality_groups& groups, const load_view& loads, const dispatch_weights& weights,
           const task_origin& origin, const placement_hint& hint) noexcept
      : groups_(groups),
        loads_(loads),
        score_(weights.score),
        origin_(origin),
        hint_(hint),
        penalties_(level_penalties(weights.spill, loads.task_time_ns)),
        admission_(choose_admission()),
        repeat_(origin.worker || hinted() ? 0 : repeats(weights, loads.task_time_ns)) {}

  bool hinted() const noexcept { return admission_.hinted; }
  std::uint32_t repeat() const noexcept { return repeat_; }

  /// Calls `visit` with the offer of each admitted worker, in the order of ids.
  template <class Visit> void each_offer(const Visit& visit) const {
    for (const worker_place& w : loads_.layout().workers())
      if (admitted(w, admission_)) visit(offer_of(w));
  }

  /// Returns the offer of the worker of the submitter's core, if that is chosen instead of the best one:
  /// tasks are short, the best one has 16 tasks or more, both are of one group, and the core's worker is
  /// available and has less than twice as many.
  std::optional<offer> own_core_instead_of(const offer& best) const noexcept {
    if (repeat_ == 0 || !origin_.cpu || best.load < 16) return std::nullopt;
    const std::optional<worker_id> at_core = loads_.layout().at_cpu(*origin_.cpu);
    if (!at_core || *at_core == best.worker) return std::nullopt;
    const worker_place& place = loads_.layout()[*at_core];
    if (place.group != best.group || !admitted(place, {})) return std::nullopt;
    offer own = offer_of(place);
    if (own.load >= std::uint64_t{2} * as_shown(best.load)) return std::nullopt;
    own.score = score_of(score_, as_shown(own.load), own.capacity);
    return own;
  }

 private:
  /// The strictest admission that admits any worker.
  admission choose_admission() const noexcept {
    for (const bool even_unavailable : {false, true})
      for (const bool hinted : {true, false}) {
        const admission candidate{hinted && !hint_.empty(), even_unavailable};
        for (const worker_place& w : loads_.layout().workers())
          if (admitted(w, candidate)) return candidate;
      }
    return {};
  }

  bool admitted(const worker_place& w, const admission& a) const noexcept {
    if (a.hinted && !(detail::allows(hint_, groups_[w.group]) && detail::allows(hint_, w.id))) return false;
    return a.even_unavailable || !loads_.board(w.group).unavailable.test(index_of(w));
  }

  offer offer_of(const worker_place& w) const noexcept {
    const locality_group& group = groups_[w.group];
    const std::uint32_t load = loads_.load(w.group, index_of(w)).total();
    return {w.id,
            w.group,
            level_to(w),
            load,
            group.capacity,
            groups_.distance(origin_.group, w.group),
            score_of(score_, load, group.capacity),
            penalty_of(w)};
  }

  level level_to(const worker_place& w) const noexcept {
    const level between = groups_.level_between(origin_.group, w.group);
    const bool from_outside = !origin_.worker;
    return from_outside && between == level::same_domain ? level::same_group : between;
  }

  double penalty_of(const worker_place& w) const noexcept {
    const bool a_neighbour = origin_.worker && *origin_.worker != w.id && level_to(w) == level::same_group;
    return penalties_[static_cast<std::size_t>(a_neighbour ? level::same_domain : level_to(w))];
  }

  std::size_t index_of(const worker_place& w) const noexcept {
    return w.id.value - loads_.layout().of_group(w.group).front().id.value;
  }

  const locality_groups& groups_;
  const load_view& loads_;
  score_kind score_;
  const task_origin& origin_;
  const placement_hint& hint_;
  std::array<double, level_count> penalties_;
  admission admission_;
  std::uint32_t repeat_;
};

bool is_fastest_at_home(const locality_groups& groups, const worker_layout& workers,
                        const task_origin& origin, group_id chosen) noexcept {
  const auto& home = groups.domains()[groups[origin.group].domain];
  return groups[chosen].domain == groups[origin.group].domain && std::ranges::none_of(home, [&](group_id g) {
           return !workers.of_group(g).empty() && groups[g].capacity > groups[chosen].capacity;
         });
}

} // namespace

placement place_by_trying_all(const locality_groups& groups, const load_view& loads,
                              const dispatch_weights& weights, const task_origin& origin,
                              const placement_hint& hint) noexcept {
  const weighing question(groups, loads, weights, origin, hint);
  std::optional<offer> best;
  std::optional<offer> own;
  question.each_offer([&](const offer& o) {
    if (!best || better(o, *best)) best = o;
    if (o.worker == origin.worker) own = o;
  });
  if (const auto at_core = question.own_core_instead_of(*best))
    return {at_core->worker, at_core->group,   at_core->level,
            at_core->score,  at_core->cost(),  placement_reason::own_core,
            false,           question.repeat()};
  const bool not_worth_a_look = loads.task_time_ns < weights.keep_below_ns;
  if (own && not_worth_a_look && !question.hinted()) best = own;
  const bool idle_at_home =
      best->load == 0 && is_fastest_at_home(groups, loads.layout(), origin, best->group);
  return {best->worker, best->group,
          best->level,  best->score,
          best->cost(), detail::reason_for(question.hinted(), best->worker == origin.worker, idle_at_home),
          false,        question.repeat()};
}

std::vector<considered> consider_groups(const locality_groups& groups, const load_view& loads,
                                        const dispatch_weights& weights, const task_origin& origin,
                                        const placement_hint& hint) {
  const weighing question(groups, loads, weights, origin, hint);
  std::optional<offer> own;
  std::optional<offer> best;
  std::vector<std::optional<offer>> lightest(groups.size());
  question.each_offer([&](const offer& o) {
    if (!best || better(o, *best)) best = o;
    auto& best_there = o.worker == origin.worker ? own : lightest[o.group.value];
    if (!best_there || better(o, *best_there)) best_there = o;
  });
  std::vector<considered> all;
  const auto add = [&](const std::optional<offer>& o) {
    if (o) all.push_back({o->group, o->worker, o->score, o->penalty});
  };
  add(own);
  for (const auto& o : lightest) add(o);
  if (best) add(question.own_core_instead_of(*best));
  return all;
}

} // namespace corewise
