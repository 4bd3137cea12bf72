#include "simulated_turns.hpp"

#include <cmath>

// How a worker finds its next step, as in the engine's worker.cpp and idle.cpp.

namespace corewise::detail {

simulated_turns::simulated_turns(simulated_state& state, followed_policies& policies,
                                 simulated_waking& waking, simulated_polling& polling,
                                 simulated_search& search)
    : state_(state),
      policies_(policies),
      waking_(waking),
      polling_(polling),
      search_(search),
      run_times_ns_(state.setup.layout.size()) {}

void simulated_turns::turn(worker_id w) {
  state_.debts.acts(w);
  const task_index t = polling_.poll(w);
  if (t == no_task) return rest(w);
  begin_work(w);
  begin_task(w, t, 0);
}

void simulated_turns::begin_task(worker_id w, task_index t, double extra_ns) {
  const run_setup& setup = state_.setup;
  const group_id own = setup.group_of(w);
  state_.queues.begin_task(w, t);
  state_.ticks.count_task(w);
  touch(state_.boards.entry(w), static_cast<std::uint64_t>(state_.ticks.began_ns(w)));
  const simulated_task& task = state_.tasks[t];
  state_.live.waited(w, task.run_as, state_.clock.now_ns() - task.submitted_ns);
  const double line =
      setup.costs.transfer[static_cast<std::size_t>(setup.groups.level_between(task.lines_at, own))];
  const double coming = task.last == w.value ? 0 : line * setup.workload.lines; // 0: its lines are here
  const double before = setup.costs.run + coming + extra_ns + state_.debts.settle(w);
  state_.queues.show(w);
  run_times_ns_[w.value] = state_.places.run_time_ns(task, own) * state_.workers.sharing(own);
  state_.clock.plan(std::round(before + run_times_ns_[w.value]),
                    {planned_event::kind::task_ends, w.value, state_.workers.generation(w)});
}

task_index simulated_turns::task_ends(worker_id w) {
  state_.debts.acts(w);
  const group_id own = state_.setup.group_of(w);
  const task_index t = state_.queues.of(w).running;
  simulated_task& task = state_.tasks[t];
  task.last = w.value;
  state_.measured.ran(state_.places.level_of(task, own), state_.setup.groups[own].kind);
  if (policies_.measures())
    policies_.ran(own, static_cast<std::int64_t>(run_times_ns_[w.value]), state_.clock.now_ns());
  state_.live.ran(w);
  return t;
}

void simulated_turns::task_ended(worker_id w) {
  state_.queues.end_task(w);
  if (state_.ticks.is_over(w)) end_tick(w);
  turn(w);
}

void simulated_turns::end_tick(worker_id w) {
  polling_.tick_ends(w, state_.ticks.end(w));
  note_task_time(w);
  state_.ticks.begin(w);
}

void simulated_turns::note_task_time(worker_id w) {
  if (state_.ticks.tell_group(w)) waking_.notify_longer(w);
  const auto& oldest_first = state_.setup.profile.queues.oldest_first;
  state_.queues.time_inbox(w, state_.setup.stealing &&
                                  takes_oldest_first(oldest_first, state_.ticks.average_ns(w)));
}

/// Notes that a worker has a task; it may have been idle.
void simulated_turns::begin_work(worker_id w) {
  if (state_.workers.of(w) != worker_state::running) {
    state_.ticks.begin(w);
    note_task_time(w);
    polling_.work_begins(w);
  }
  state_.workers.change(w, worker_state::running); // also measures the time until now
  if (state_.workers.searches(w)) waking_.notify_found(w, state_.workers.end_search(w));
}

/// Lets a worker with nothing to do look for work elsewhere for a while, if it may, and then sleep.
void simulated_turns::rest(worker_id w) {
  worker_states& workers = state_.workers;
  if (workers.of(w) == worker_state::running) end_tick(w);
  if (state_.setup.stealing && !workers.searches(w)) {
    if (!workers.may_search_too(state_.setup.domain_of(w))) return park(w);
    workers.begin_search(w);
  }
  workers.begin_spinning(w);
  search_.search_begins(w);
  state_.queues.show(w);
  look(w, steal_effort::usual, false);
  if (workers.of(w) != worker_state::spinning) return;
  const auto spin = state_.setup.profile.idle.spin;
  if (spin.count() == 0) return look(w, steal_effort::thorough, true);
  state_.clock.plan(spin, {planned_event::kind::spun, w.value, workers.generation(w)});
}

void simulated_turns::look(worker_id w, steal_effort effort, bool time_is_up) {
  state_.debts.acts(w);
  state_.spinning.looks(w);
  const auto [t, cost_ns] = search_.look_around(w, effort);
  if (t == no_task && !time_is_up) return state_.spinning.spins_on(w);
  state_.workers.hide_spinning(w);
  if (t == no_task) return park(w);
  begin_work(w);
  begin_task(w, t, cost_ns);
}

void simulated_turns::park(worker_id w) {
  worker_states& workers = state_.workers;
  const bool last = !workers.searches(w) || workers.end_search(w);
  if (waking_.sees_work(w, last)) {
    // The worker goes on as a woken one, after another round.
    workers.begin_search(w);
    workers.change(w, worker_state::waking);
    state_.clock.plan(state_.setup.costs.steal[0] + 1,
                      {planned_event::kind::woken, w.value, workers.generation(w)});
  } else {
    workers.fall_asleep(w);
  }
  state_.queues.show(w);
}

} // namespace corewise::detail
