#include "simulated_placing.hpp"

#include <corewise/policies/origin.hpp>

#include <algorithm>

namespace corewise::detail {

simulated_placing::simulated_placing(simulated_state& state, followed_policies& policies,
                                     simulated_waking& waking)
    : state_(state),
      policies_(policies),
      waking_(waking),
      resumptions_return_(policies.placing().returns()),
      slots_(state.setup.layout.size()) {
  const auto& cpus = state.places.cpus();
  if (!cpus.empty()) outside_.resize(std::ranges::max(cpus) + 1);
  for (const std::uint32_t cpu : cpus)
    outside_[cpu].rng = placement_rng(state.setup.options.seed * 0xD1B54A32D192ED03ULL + cpu + 1);
}

placement_hint simulated_placing::hint_of(const simulated_task& task) const noexcept {
  placement_hint hint;
  if (state_.setup.workload.hinted && task.node != nowhere) hint.node = task.node;
  hint.run_as = task.run_as;
  return hint;
}

load_view simulated_placing::view_for(std::uint64_t task_time_ns) const noexcept {
  load_view view = state_.boards.view();
  view.task_time_ns = task_time_ns;
  return view;
}

void simulated_placing::submit_outside(task_index t, std::uint32_t cpu) {
  using maker = placing_decision::maker;
  outside_thread& from = outside_[cpu];
  const simulated_task& task = state_.tasks[t];
  const placement_hint hint = hint_of(task);
  const task_origin origin{task.from, std::nullopt, cpu};
  const load_view view = view_for(state_.ticks.task_time_ns(origin.group));
  const auto tell = [&](const placement& to, const placement_rng& rng, const placement_cursor& cursor,
                        maker by) {
    const auto& on_placing = state_.setup.options.on_placing;
    if (on_placing) on_placing({view, origin, hint, rng, cursor, cpu, to, by});
  };
  state_.measured.placed();
  if (hint.plain() && from.last.holds(cpu, view)) {
    const placement& last = from.last.take();
    tell(last, from.rng, from.cursor, maker::repeat);
    return put(t, last);
  }
  const placement_rng rng = from.rng;
  const placement_cursor cursor = from.cursor;
  const placement to = policies_.placing().place(view, origin, hint, from.rng, from.cursor);
  tell(to, rng, cursor, maker::place);
  if (hint.run_as != task_class::normal) return put_in_class(t, to.group);
  from.last.note(to, cpu);
  send(t, to);
}

void simulated_placing::submit_on_worker(task_index t, worker_id w) {
  using maker = placing_decision::maker;
  const run_setup& setup = state_.setup;
  worker_draws& draws = policies_.of(w);
  const placement_hint hint = hint_of(state_.tasks[t]);
  const task_origin origin = origin_from_worker(setup.layout, w);
  const load_view view = view_for(state_.ticks.task_time_ns(w));
  const worker_draws before = draws;
  const auto tell = [&](const placement& to, maker by) {
    const auto& on_placing = setup.options.on_placing;
    if (on_placing) on_placing({view, origin, hint, before.rng, before.cursor, 0, to, by});
  };
  state_.measured.placed();
  state_.debts.charge(w, setup.costs.submit);
  if (hint.plain() && hint.empty()) {
    const auto most = policies_.placing().max_load_kept_unasked(view, origin);
    if (most && view.load(state_.boards.entry(w)).total() <= *most) {
      tell({.worker = w, .group = origin.group}, maker::max_load_kept_unasked);
      return push_next(w, t);
    }
  }
  const placement to = policies_.placing().place(view, origin, hint, draws.rng, draws.cursor);
  tell(to, maker::place);
  if (hint.run_as != task_class::normal) return put_in_class(t, to.group);
  if (!to.injected && to.worker == w) return push_next(w, t);
  if (setup.groups[to.group].domain != setup.domain_of(w)) state_.live.spilled(w);
  send(t, to);
}

void simulated_placing::fork(task_index t, worker_id w) {
  if (state_.tasks[t].run_as != task_class::normal) return put_in_class(t, state_.setup.group_of(w));
  state_.queues.push_fork(w, t);
  state_.queues.show(w);
  waking_.notify_pushed(w);
}

void simulated_placing::wake_task(task_index t, worker_id w) {
  if (state_.tasks[t].run_as != task_class::normal) return put_in_class(t, state_.setup.group_of(w));
  return resumptions_return_ ? push_next(w, t) : send_back(t, w);
}

void simulated_placing::yield(task_index t, worker_id w) {
  if (state_.tasks[t].run_as != task_class::normal) return put_in_class(t, state_.setup.group_of(w));
  if (!resumptions_return_) return send_back(t, w);
  const bool alone = state_.queues.of(w).ring.empty();
  state_.queues.store(w, t);
  state_.queues.show(w);
  if (alone && state_.queues.of(w).lifo != no_task) waking_.notify_pushed(w);
}

/// Places a task that goes on, where its policy does not bring it back to the worker that it ran on.
void simulated_placing::send_back(task_index t, worker_id from) {
  const std::uint32_t last = state_.tasks[t].last;
  const worker_id to = last == nowhere ? from : worker_id{last};
  send(t, {.worker = to, .group = state_.setup.group_of(to), .injected = !resumptions_return_});
}

void simulated_placing::send(task_index t, const placement& to) {
  if (to.injected && state_.setup.injects) {
    state_.queues.inject(to.group, t);
    return waking_.notify_pushed(to.worker);
  }
  state_.workers.hide_spinning(to.worker); // the next submitter chooses another
  put(t, to);
}

void simulated_placing::put(task_index t, const placement& to) {
  if (state_.queues.inbox_full(to.worker)) {
    state_.queues.inject(to.group, t);
  } else {
    state_.queues.put_in_inbox(to.worker, t, state_.clock.now_ns());
    state_.queues.show(to.worker);
  }
  waking_.notify_pushed(to.worker);
}

void simulated_placing::put_in_class(task_index t, group_id g) {
  const task_class c = state_.tasks[t].run_as;
  state_.queues.push_class(state_.setup.groups[g].domain, c, t);
  waking_.notify_pushed(g, c);
}

void simulated_placing::push_next(worker_id w, task_index t) {
  const auto& queues = state_.setup.profile.queues;
  if (queues.lifo_cap == 0) return push(w, t);
  const task_index evicted = state_.queues.fill_slot(w, t);
  slot_age& age = slots_[w.value];
  age.begun_at = state_.queues.of(w).started;
  ++age.puts;
  if (queues.lifo_age && state_.setup.stealing)
    state_.clock.plan(*queues.lifo_age, {planned_event::kind::slot_aged, w.value, age.puts});
  if (evicted != no_task) return push(w, evicted);
  state_.queues.show(w);
}

void simulated_placing::push(worker_id w, task_index t) {
  state_.queues.store(w, t);
  state_.queues.show(w);
  waking_.notify_pushed(w);
}

void simulated_placing::slot_aged(worker_id w, std::uint32_t puts) {
  const worker_queues& queues = state_.queues.of(w);
  slot_age& age = slots_[w.value];
  if (queues.lifo == no_task || age.puts != puts) return;
  if (queues.started != age.begun_at) { // the worker gets on: once more
    age.begun_at = queues.started;
    const auto after = *state_.setup.profile.queues.lifo_age;
    return state_.clock.plan(after, {planned_event::kind::slot_aged, w.value, puts});
  }
  put(state_.queues.empty_slot(w), {.worker = w, .group = state_.setup.group_of(w)});
  state_.queues.show(w); // its inbox may have had no room
}

} // namespace corewise::detail
