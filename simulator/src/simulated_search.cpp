#include "simulated_search.hpp"

#include <algorithm>

namespace corewise::detail {

simulated_search::simulated_search(simulated_state& state, followed_policies& policies,
                                   simulated_waking& waking, simulated_polling& polling)
    : state_(state),
      policies_(policies),
      waking_(waking),
      polling_(polling),
      handed_(state.setup.layout.size()) {}

simulated_search::found simulated_search::look_around(worker_id w, steal_effort effort) {
  simulated_queues& queues = state_.queues;
  if (queues.in_classes() != 0)
    if (const task_index t = take_suited(w, task_class::latency, effort); t != no_task) return {t};
  if (const task_index t = polling_.poll_shared(w, false); t != no_task) return {t};
  if (const task_index t = queues.pop_ring(w); t != no_task) return {t};
  if (state_.setup.stealing && anything_to_steal(w))
    if (const found stolen = steal(w, effort); stolen.task != no_task) return stolen;
  if (queues.in_classes() == 0) return {};
  if (const task_index t = take_suited(w, task_class::background, effort); t != no_task) return {t};
  return {state_.setup.stealing ? take_far_class(w) : no_task};
}

/// Returns whether a visit of the steal policy could find anything. Most workers find out here at once that
/// it could not.
bool simulated_search::anything_to_steal(worker_id w) const noexcept {
  const simulated_queues& queues = state_.queues;
  if (!queues.any_to_steal()) return false;
  const locality_groups& groups = state_.setup.groups;
  const group_id own = state_.setup.group_of(w);
  const std::uint32_t domain = groups[own].domain;
  if (queues.slots_in(domain) != 0 || queues.waiting_in(domain) != 0) return true;
  if (!queues.any_for_others()) return false;
  std::uint32_t asked = domain;
  return std::ranges::any_of(groups[own].steal_order, [&](group_id g) {
    if (groups[g].domain == asked) return false;
    asked = groups[g].domain;
    return queues.waiting_in(asked) != 0 && waking_.may_steal(own, g);
  });
}

/// Steals. The steal policy decides where to look, and in which order.
simulated_search::found simulated_search::steal(worker_id w, steal_effort effort) {
  const group_id own = state_.setup.group_of(w);
  found stolen;
  policies_.stealing().visit(
      state_.boards.view(), w, policies_.of(w).rng, effort, [&](const steal_stop& stop) {
        if (!waking_.may_steal(own, stop.group)) return false;
        stolen.task = stop.victim ? polling_.steal_from(w, *stop.victim, stop.level)
                                  : polling_.take_injected(w, stop.group);
        if (stolen.task == no_task) return false;
        stolen.cost_ns = state_.setup.costs.steal[static_cast<std::size_t>(stop.level)];
        return true;
      });
  return stolen;
}

/// Takes a task of the domain's queue, unless it leaves it to an idle worker that suits the task better; if
/// that worker spins, it looks.
task_index simulated_search::take_suited(worker_id w, task_class c, steal_effort effort) {
  const std::uint32_t domain = state_.setup.domain_of(w);
  if (!state_.queues.class_waits(domain, c)) return no_task;
  bool& handed = handed_[w.value][static_cast<std::size_t>(c) - 1];
  if (!state_.setup.stealing ||
      !waking_.leaves_to_better_suited(w, c, effort == steal_effort::thorough, handed))
    return state_.queues.take_class(domain, c);
  (void)waking_.any_better_suited(w, c, [&](group_id g) { return plan_look_in(g); });
  return no_task;
}

/// Plans a look of a spinning worker of the group. Returns false if none spins.
bool simulated_search::plan_look_in(group_id g) {
  for (const worker_place& p : state_.setup.layout.of_group(g)) {
    if (state_.workers.of(p.id) != worker_state::spinning) continue;
    state_.spinning.plan_look(p.id);
    return true;
  }
  return false;
}

/// Takes a task with a class from the nearest domain where no worker is idle and enough tasks wait.
task_index simulated_search::take_far_class(worker_id w) {
  const locality_groups& groups = state_.setup.groups;
  const group_id own = state_.setup.group_of(w);
  simulated_queues& queues = state_.queues;
  std::uint32_t asked = groups[own].domain;
  for (const group_id g : groups[own].steal_order) {
    if (groups[g].domain == asked) continue;
    asked = groups[g].domain;
    if (!queues.class_waits(asked, task_class::latency) && !queues.class_waits(asked, task_class::background))
      continue;
    if (!waking_.may_steal_class(own, asked)) continue;
    for (const task_class c : {task_class::latency, task_class::background})
      if (const task_index t = queues.take_class(asked, c); t != no_task) return t;
  }
  return no_task;
}

} // namespace corewise::detail
