#include "simulated_waking.hpp"

#include <algorithm>

namespace corewise::detail {

simulated_waking::simulated_waking(simulated_state& state)
    : idle_rules(state.setup.groups, state.setup.layout),
      state_(state),
      minimum_at_(minimum_at_of(state.setup.profile)) {}

void simulated_waking::notify_pushed(worker_id w) {
  if (any_parked()) wake_for(w);
  if (state_.spinning.at_rest(w)) return state_.spinning.plan_look(w);
  const group_id own = layout_[w].group;
  if (stealing()) return offer_to_searchers(own);
  if (injected(own) != 0) state_.spinning.offer(groups_[own].domain, own);
}

void simulated_waking::notify_pushed(group_id g, task_class c) {
  if (any_parked()) wake_for(groups_[g].domain, c);
  offer_class(g, c);
}

void simulated_waking::notify_found(worker_id w, bool last) {
  if ((last || !stealing()) && any_parked()) wake_for_rest(w);
  offer_rest();
}

void simulated_waking::notify_longer(worker_id w) {
  const group_id g = layout_[w].group;
  if (stealing() && any_parked() && !searching(groups_[g].domain)) wake_farther(g);
}

// --- offers

/// Lets a spinning worker come upon a task with a class in the group's domain: of the domain the worker that
/// suits it best, or of the nearest domain the worker that may take it.
void simulated_waking::offer_class(group_id g, task_class c) {
  const std::uint32_t domain = groups_[g].domain;
  const domain_kinds& kinds = kinds_[domain];
  group_id first = g;
  if (kinds.unequal) {
    const auto spins = [&](group_id of) { return spins_in(of); };
    const auto& by_speed = kinds.fastest_first;
    if (c == task_class::background) {
      const auto slowest = std::find_if(by_speed.rbegin(), by_speed.rend(), spins);
      if (slowest != by_speed.rend()) first = *slowest;
    } else {
      const auto fastest = std::ranges::find_if(by_speed, spins);
      if (fastest != by_speed.end()) first = *fastest;
    }
  }
  if (state_.spinning.offer(domain, first) || !stealing()) return;
  std::uint32_t asked = domain;
  for (const group_id other : groups_[first].steal_order) {
    if (groups_[other].domain == asked) continue;
    asked = groups_[other].domain;
    if (state_.spinning.none(asked) || !may_steal_class(other, domain)) continue;
    if (state_.spinning.offer(asked, other)) return;
  }
}

/// Lets a spinning worker come upon the task: one of its domain, or the nearest one that may take so much.
void simulated_waking::offer_to_searchers(group_id own) {
  if (state_.spinning.offer(groups_[own].domain, own)) return;
  if (state_.spinning.none() || !state_.queues.any_for_others()) return;
  std::uint32_t asked = groups_[own].domain;
  for (const group_id g : groups_[own].steal_order) {
    const std::uint32_t domain = groups_[g].domain;
    if (domain == asked) continue;
    asked = domain;
    if (state_.spinning.none(domain) || !may_steal(g, own)) continue;
    if (state_.spinning.offer(domain, g)) return;
  }
}

void simulated_waking::offer_rest() {
  if (!stealing() || state_.spinning.none() || !state_.queues.any_waits()) return;
  for (std::uint32_t domain = 0; domain < groups_.domains().size(); ++domain) {
    if (waiting_in(domain) == 0) continue;
    const auto& groups = groups_.domains()[domain];
    for (const task_class c : {task_class::latency, task_class::background})
      if (class_waits(domain, c)) offer_class(groups.front(), c);
    const auto waits = std::ranges::find_if(groups, [&](group_id g) { return work_in(g); });
    if (waits != groups.end()) offer_to_searchers(*waits);
  }
}

// --- what idle_rules asks

bool simulated_waking::wake(group_id g, std::size_t index) noexcept {
  if (!state_.workers.wake(g, index)) return false;
  const worker_id w = layout_.of_group(g)[index].id;
  state_.debts.charge_acting(state_.setup.costs.waking);
  state_.clock.plan(state_.setup.costs.wake_up,
                    {planned_event::kind::woken, w.value, state_.workers.generation(w)});
  return true;
}

void simulated_waking::wake_for_injection(group_id g) noexcept {
  const auto& injection_of = state_.setup.injection_of;
  for (const group_id other : groups_[g].steal_order)
    if (injection_of[other.value] == injection_of[g.value] && wake_any(other)) return;
}

bool simulated_waking::work_for(worker_id w) const noexcept {
  const simulated_queues& queues = state_.queues;
  const group_id own = layout_[w].group;
  if (queues.waiting_for_workers(own) != 0 && stealing()) return true;
  if (own_work(w) || injected(own) != 0) return true;
  const std::uint32_t domain = groups_[own].domain;
  if (class_waits(domain, task_class::latency) || class_waits(domain, task_class::background)) return true;
  if (!stealing() || !queues.any_waits()) return false;
  return std::ranges::any_of(groups_[own].steal_order, [&](group_id g) { return may_find(own, g); });
}

bool simulated_waking::on_its_way(group_id g) const noexcept {
  return std::ranges::any_of(layout_.of_group(g), [&](const worker_place& p) {
    return state_.workers.of(p.id) == worker_state::waking;
  });
}

} // namespace corewise::detail
