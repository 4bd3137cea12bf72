#include "simulated_run.hpp"

#include "run_reports.hpp"

#include <fmt/format.h>

namespace corewise::detail {

namespace {

constexpr std::uint64_t events_between_looks = 4096; // at `stop` and for `progress`

} // namespace

simulated_run::simulated_run(const profile& p, const simulated_machine& machine, const workload& w,
                             const simulation_options& options)
    : state_(p, machine, w, options),
      policies_(state_.setup),
      waking_(state_),
      placing_(state_, policies_, waking_),
      polling_(state_, waking_),
      search_(state_, policies_, waking_, polling_),
      turns_(state_, policies_, waking_, polling_, search_),
      workload_(state_, placing_) {}

simulation_result simulated_run::run() {
  const simulation_options& options = state_.setup.options;
  simulated_clock& clock = state_.clock;
  measuring& measured = state_.measured;
  run_reports reports(state_);
  workload_.begin();
  std::uint64_t events = 0;
  while (!clock.nothing_planned() && measured.ended_tasks() < options.tasks) {
    const auto e = clock.take_next();
    if (e.time_ns == latest_time_ns && waits_only(e.event)) continue;
    check_limits(e.time_ns);
    if (state_.workers.any_without_task() && state_.queues.any_waits())
      measured.idled_beside_work(clock.now_ns(), e.time_ns);
    clock.move_to(e.time_ns);
    handle(e.event);
    if (options.look_through != 0 && events % options.look_through == 0) state_.look_through();
    reports.tell(measured.ended_tasks());
    if (++events % events_between_looks != 0) continue;
    if (options.stop != nullptr && options.stop->load(std::memory_order_relaxed)) throw simulation_stopped();
    tell_progress();
  }
  tell_progress();
  for (const worker_place& w : state_.setup.layout.workers()) state_.workers.measure(w.id);
  return measured.finish(clock.now_ns(), state_.setup.costs, events, workload_.still_in_system());
}

void simulated_run::tell_progress() const {
  const auto progress = state_.setup.options.progress;
  if (progress != nullptr) progress->store(state_.measured.ended_tasks(), std::memory_order_relaxed);
}

/// Returns whether the event is the end of a time for which a worker spins, or a task stays in a slot.
bool simulated_run::waits_only(const planned_event& e) noexcept {
  return e.what == planned_event::kind::spun || e.what == planned_event::kind::slot_aged;
}

/// Says which limit the run has passed.
void simulated_run::refuse(std::int64_t next_ns) const {
  const simulation_options& options = state_.setup.options;
  std::string limit =
      "the simulated time is over, which is 146 years at most; simulate fewer tasks, a higher "
      "rate or load, or shorter times";
  if (next_ns != latest_time_ns)
    limit = fmt::format("{} tasks wait or run, of {} at most: they come faster than the machine runs them; "
                        "simulate fewer tasks, or a lower rate or load",
                        state_.tasks.alive(), options.most_in_system);
  throw workload_error(fmt::format("{}: after {} of {} tasks {}", describe(state_.setup.workload),
                                   state_.measured.ended_tasks(), options.tasks, limit));
}

void simulated_run::end_task(worker_id w) {
  workload_.after(w, turns_.task_ends(w));
  turns_.task_ended(w);
}

void simulated_run::handle(const planned_event& e) {
  using kind = planned_event::kind;
  state_.debts.begin_event();
  const worker_id w{e.index};
  const auto still = [&] { return state_.workers.generation(w) == e.generation; };
  switch (e.what) {
  case kind::arrival: return workload_.arrive();
  case kind::client_submits: return workload_.client_submits(e.index);
  case kind::root_comes: return workload_.submit_root();
  case kind::task_ends: return end_task(w);
  case kind::woken: return turns_.turn(w);
  case kind::look:
    if (still()) turns_.look(w, steal_effort::usual, false);
    return;
  case kind::spun:
    if (still()) turns_.look(w, steal_effort::thorough, true);
    return;
  case kind::slot_aged: return placing_.slot_aged(w, e.generation);
  }
}

} // namespace corewise::detail
