#include "worker/worker.hpp"

#include "books/sampling.hpp"
#include "recording/task_identity.hpp"
#include "worker/shared.hpp"
#include "worker/task_event.hpp"

#include <cassert>

// The loop. It asks the sources of tasks in the order of turn_plan.hpp, and its discipline D where
// disciplines differ (disciplines.hpp).

namespace corewise::detail {

worker::worker(shared& engine, worker_id id, const queue_memory& memory)
    : engine_(engine),
      stage_byte_(engine.stage_byte()),
      place_(engine.layout()[id]),
      entry_(memory.entry),
      supply_(engine, place_, memory, rules_, counts_),
      rng_(id.value + 1),
      searcher_(*this, supply_) {
  rules_.take(engine.newest_rules());
  retired_ = !engine.active(id);
  follow_rules();
  plan_.set_interval(rules_in_force().settings.injection.interval.min);
  if (engine.settings().topology.measure) counts_.alike = std::make_unique<like_tasks>();
}

bool worker::run() {
  const discipline d = engine_.settings().queues.discipline;
  if (d == discipline::standard) return run_by(standard_discipline{});
  general_discipline other(d, queues(), counts_);
  return run_by<general_discipline&>(other);
}

template <class D> bool worker::run_by(D rules) {
  for (;;) {
    task_header* t = std::exchange(rotated_, nullptr);
    if (t == nullptr) {
      if (shared::is_over(stage_byte_)) return leave_seat();
      t = retired_ ? nullptr : poll<D>(rules);
      if (t == nullptr) t = linger<D>(rules);
      if (t == nullptr && engine_.idle().drives() && !retired_ && poll_driver(place_.group))
        t = poll<D>(rules);
      if (t == nullptr) t = rest<D>(rules);
    }
    if (t == nullptr) continue;
    const bool observed = t->queued_at != 0 || recording();
    if ((observed ? execute_observed(*t) : execute(t)) >= turn_end::seat_given_away) return false;
  }
}

/// Leaves the seat for good. Returns true: it is still the caller's.
[[gnu::cold]] bool worker::leave_seat() noexcept {
  engine_.end_child();
  entry_.owner.running.store(0, std::memory_order_relaxed);
  end_work();
  lender_.note_left();
  return true;
}

/// Asks the worker's own sources and those that it shares. Returns null if they have nothing.
template <class D> task_header* worker::poll(D rules) noexcept {
  worker_queues& own = queues();
  const class_queue& latency = supply_.classes().of(task_class::latency);
  if (latency.waiting()) [[unlikely]]
    if (task_header* t = poll_latency()) return t;
  task_header* t = nullptr;
  if (plan_.count_poll()) [[unlikely]]
    t = poll_due<D>(rules);
  const bool from_slot = t == nullptr && !own.lifo.empty() && (t = poll_slot(rules)) != nullptr;
  if (t == nullptr && !own.forks.empty() && !rules.batch_is_in_front()) t = own.forks.pop();
  if (t != nullptr) {
    supply_.announce_yielded();
  } else {
    supply_.forget_yielded();
    t = own.ring.pop();
    if (t == nullptr) {
      rules.begin_take();
      t = supply_.take_shared();
      rules.end_take();
    }
    if (t == nullptr) t = poll_slot(rules); // the ring's task that was to go first was stolen meanwhile
    if (t == nullptr) return latency.waiting() ? poll_latency() : nullptr;
  }
  if (!from_slot) lifo_.count_other();
  note_found();
  return t;
}

task_header* worker::poll_latency() noexcept {
  if (!plan_.pick_latency()) return nullptr;
  task_header* t = supply_.take_class(supply_.classes(), task_class::latency);
  if (t == nullptr) return nullptr;
  plan_.count_latency();
  supply_.announce_yielded();
  note_found();
  return t;
}

/// Asks the shared sources first, since they are due. A worker that comes from idling has had time for
/// background tasks, and may leave one to others.
template <class D> task_header* worker::poll_due(D rules) noexcept {
  worker_queues& own = queues();
  const std::uint64_t started = own.started();
  if (plan_.pick_background(started) && working_ && supply_.classes().of(task_class::background).waiting())
    if (task_header* t = supply_.take_class(supply_.classes(), task_class::background))
      return plan_.count_background(started), t;
  if (!own.forks.empty() && plan_.pick_ring())
    if (task_header* t = own.ring.pop()) return t;
  rules.begin_take();
  task_header* t = supply_.take_batch(plan_.pick_injection(), rules.most_in_front());
  rules.end_take();
  if (rules.polls_backlog() && (own.in.size() != 0 || engine_.injection(place_.group).size() != 0))
    plan_.note_backlog(own.ring.size() + (own.lifo.empty() ? 0U : 1U) + (own.forks.empty() ? 0U : 1U));
  return t;
}

/// Takes the task of the LIFO slot, while it may come before others. Else the task waits for its next turn.
task_header* worker::poll_slot(standard_discipline /*rules*/) noexcept {
  worker_queues& own = queues();
  if (own.lifo.empty()) return nullptr;
  const bool overtakes = !own.ring.nothing_waits() || !own.forks.empty();
  if (overtakes && lifo_.used_up()) return nullptr;
  task_header* t = own.lifo.take_own();
  if (t == nullptr) return nullptr; // it had aged
  if (overtakes) lifo_.count_run();
  counts_.lifo_runs.add();
  return t;
}

/// Takes the task of the LIFO slot, while the cap leaves a run. Else the task goes behind the ring.
task_header* worker::poll_slot(general_discipline& rules) noexcept {
  worker_queues& own = queues();
  if (own.lifo.empty() || rules.batch_is_in_front()) return nullptr;
  const bool behind = rules.slot_is_used_up(lifo_);
  task_header* t = own.lifo.take_own();
  if (t == nullptr) return nullptr; // it had aged
  if (behind) {
    supply_.push(t);
    engine_.idle().notify_pushed(id());
    return nullptr;
  }
  rules.count_slot_run(lifo_);
  counts_.lifo_runs.add();
  return t;
}

/// Waits a little for more tasks where many short ones came, before the worker announces that it is idle.
template <class D> task_header* worker::linger(D rules) noexcept {
  if (!working_ || retired_ || !publishing_.tasks_are_short()) return nullptr;
  return searcher_.linger() ? poll<D>(rules) : nullptr;
}

/// Looks for work elsewhere, and sleeps if there is none. Returns null after it has slept, or if the engine
/// has ended.
template <class D> task_header* worker::rest(D rules) noexcept {
  entry_.owner.running.store(0, std::memory_order_relaxed);
  end_work();
  renew_rules();
  rules.begin_take();
  if (retired_) {
    supply_.forget_yielded();
    send_away(*this);
    if (engine_.idle().drives() && engine_.active_in(place_.group) == 0) poll_driver(place_.group);
  } else if (!queues().lifo.empty()) {
    return poll<D>(rules); // the worker was called back before it had sent that away
  } else if (task_header* t = searcher_.search()) {
    rules.end_take();
    note_found();
    return t;
  }
  engine_.publish_least_of(place_.group);
  assert(queues().lifo.empty()); // no thread looks there while the worker sleeps
  if (recording()) [[unlikely]]
    record_worker(*this, event_code::parked);
  engine_.idle().park(id(), {.searching = supply_.is_searching(),
                             .retired = retired_,
                             .by = rules_.get(),
                             .begun = queues().started()});
  supply_.note_searching();
  noted_awake_ = false;
  if (recording()) [[unlikely]]
    record_worker(*this, event_code::woken);
  if (engine_.idle().drives()) [[unlikely]]
    hand_on(engine_.idle().found(id()), place_.group, /*serves=*/true);
  return nullptr;
}

/// Runs a task. If the task gave the seat away, do no more than count there. After a task that was suspended the seat
/// goes on being counted as busy, until it has the next one or rests.
inline worker::turn_end worker::execute(task_header* t) {
  const std::uint8_t phase = t->phase;
  if (this_execution.phase != phase) [[unlikely]] {
    // A thread that drains the other phase must hear of its last task now: this task may never end.
    this_execution.phase = phase;
    engine_.drains().progress();
  }
  entry_.owner.running.store(1, std::memory_order_relaxed);
  report_.note_task(t->act);
  touch(entry_, tick_.stamp());
  if (publishing_.due_at_task()) {
    engine_.publish_load(place_);
    publishing_.note_published();
  }
  bool ended = true;
  try {
    ended = t->act(t, task_action::run);
  } catch (...) {
    engine_.failed();
  }
  if (this_execution.seat != this) [[unlikely]] {
    engine_.end_child();
    counts_.count_without_seat();
    if (ended) engine_.finished_without_seat(phase);
    return ended ? turn_end::seat_given_away : turn_end::suspended_without_seat;
  }
  if (ended) {
    entry_.owner.running.store(0, std::memory_order_relaxed);
    counts_.executed.add();
    engine_.release_one(phase);
    books_.finished[phase].add();
  } else {
    counts_.executed.add();
  }
  tick_.count_task();
  if (tick_.look_is_due()) look_at_clock();
  return ended ? turn_end::ended : turn_end::suspended;
}

namespace {

task_class class_of(const task_header& t) noexcept {
  const coroutine_root* const root = root_of(t);
  return root != nullptr ? root->run_as : t.run_as;
}

/// Returns the kind of a task that is about to begin; 0: it goes on, and its parts are not alike.
std::uintptr_t kind_of_first_part(const task_header& t) noexcept {
  return resumption_of(t) != nullptr ? 0 : kind_of(t).word;
}

} // namespace

/// Does the same with a task that is stamped, or while events are recorded. Of a task that gives the seat away no run
/// is counted.
worker::turn_end worker::execute_observed(task_header& t) {
  if (t.queued_at == 0) return execute_recorded(t);
  const auto of = static_cast<std::size_t>(class_of(t));
  const auto begun = monotonic::now();
  const std::uint32_t stamp = std::exchange(t.queued_at, 0);
  const auto waited = queue_stamp::age(stamp, begun);
  counts_.waited[of].add(waited);
  if (queue_stamp::is_by_driver(stamp)) counts_.ready_waited.add(waited);
  tick_.look_next(); // so a yield comes back here, and the coroutine that goes on is not counted
  const std::uintptr_t kind = counts_.alike != nullptr ? kind_of_first_part(t) : 0;
  const std::uint64_t not_its_own = counts_.expired.read() + counts_.blocking.read();
  const turn_end how = execute_recorded(t);
  if (how >= turn_end::seat_given_away) return how;
  const auto time = monotonic::now() - begun;
  counts_.ran[of].add(time);
  if (kind != 0 && counts_.expired.read() + counts_.blocking.read() == not_its_own)
    counts_.alike->note(kind, time);
  return how;
}

worker::turn_end worker::execute_recorded(task_header& t) {
  if (!recording()) return execute(&t);
  const engine_number of = engine_.number();
  const worker_id on = id();
  const void* const task = identity_of(t);
  record_begun(t, of, on);
  const turn_end how = execute(&t);
  const bool ended = how == turn_end::ended || how == turn_end::seat_given_away;
  record(ended ? event_code::ended : event_code::suspended, of, on.value, task);
  return how;
}

/// The worker has a task, and may have been idle.
void worker::leave_idling() noexcept {
  if (supply_.end_searching()) engine_.idle().found_work(id());
  if (!std::exchange(working_, true)) begin_work();
}

} // namespace corewise::detail
