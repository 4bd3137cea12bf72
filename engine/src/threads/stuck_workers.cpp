#include "threads/supervisor.hpp"
#include "worker/decoded_trace.hpp"
#include "worker/shared.hpp"
#include "worker/task_label.hpp"

#include <fmt/format.h>

#include <ctime>
#include <new>
#include <utility>

// How the supervisor finds and reports a task that does not end.

namespace corewise::detail {

namespace {

using namespace std::chrono_literals;

/// How far before the start of a stuck task its trace begins.
constexpr std::chrono::nanoseconds traced_before = 100ms;

/// Returns the CPU time that a thread has used; nothing when the thread is gone.
std::optional<std::chrono::nanoseconds> cpu_time(clockid_t clock) noexcept {
  timespec t{};
  if (::clock_gettime(clock, &t) != 0) return std::nullopt;
  return std::chrono::seconds{t.tv_sec} + std::chrono::nanoseconds{t.tv_nsec};
}

/// Adds to a count of which the supervisor is the only writer.
void add_stuck(atomic<std::int64_t>& to, std::chrono::nanoseconds time) noexcept {
  to.store(to.load(std::memory_order_relaxed) + time.count(), std::memory_order_relaxed);
}

std::int64_t milliseconds(std::chrono::nanoseconds t) noexcept { return t / 1ms; }

} // namespace

void supervisor::look_at_task(worker_id w, nanoseconds passed, monotonic::time_point now) noexcept {
  worker& seat = engine_.seat(w);
  task_sight& sight = seats_[w.value].task;
  const std::uint64_t started = seat.queues().started();
  const bool running = seat.runs() && !seat.lending(); // a task that blocks has lent the seat
  const auto last_look = std::exchange(sight.seen, now);
  if (!running || !sight.running || sight.started != started) {
    sight = {};
    sight.started = started;
    sight.running = running;
    sight.begun_after = last_look;
    sight.seen = now;
    seats_[w.value].stands.store(false, std::memory_order_relaxed);
    return;
  }
  sight.age += passed;
  if (sight.reported) add_stuck(seats_[w.value].stuck_ns, passed);
  const nanoseconds limit = stuck_after().value_or(nanoseconds::max());
  if (sight.reported || sight.age < limit / 2) return;
  if (!sight.cpu_then) {
    sight.cpu_then = cpu_time(seat.report().thread_clock());
    sight.then = now;
  }
  if (sight.age < limit) return;
  sight.reported = true;
  add_stuck(seats_[w.value].stuck_ns, sight.age);
  seats_[w.value].stands.store(true, std::memory_order_relaxed);
  atomic<std::uint64_t>& stuck = seats_[w.value].stuck;
  stuck.store(stuck.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  report(seat, sight, now);
}

void supervisor::report(worker& seat, const task_sight& sight, monotonic::time_point now) noexcept {
  log_record record{.severity = log_severity::error, .code = log_code::stuck_worker, .worker = seat.id()};
  try {
    seen_task task = seat.report().task();
    if (seat.queues().started() != sight.started) task = {}; // it has ended just now
    const std::uint32_t waiting = seat.queues().waiting();
    const log_record::number numbers[] = {{"ran_ms", milliseconds(sight.age)}, {"waiting", waiting}};
    record.task = task.kind;
    record.task_name = task.name;
    record.task_id = task.id;
    record.numbers = numbers;
    std::string text =
        fmt::format("worker {} of group {} is stuck: it has run a task for {} ms or more: {}",
                    seat.id().value, seat.place().group.value, milliseconds(sight.age),
                    task.kind.empty() ? "of unknown kind" : task_text(task.kind, task.name, task.id));
    const std::optional<nanoseconds> cpu_now = cpu_time(seat.report().thread_clock());
    if (now > sight.then && sight.cpu_then && cpu_now)
      text += fmt::format("; of the last {} ms its thread used a CPU for {} ms",
                          milliseconds(now - sight.then), milliseconds(*cpu_now - *sight.cpu_then));
    if (waiting != 0) text += fmt::format("; {} tasks wait in its queues", waiting);
    if (const std::string stack = stack_of(seat.report().thread());
        !stack.empty() && seat.queues().started() == sight.started)
      text += "; its stack:" + stack;
    record.text = text;
    engine_.notices().report(record);
  } catch (const std::bad_alloc&) {
    record.task = record.task_name = {};
    record.numbers = {};
    record.text = "a worker is stuck, and there is no memory for a report";
    engine_.notices().log(record);
  }
  try {
    report_trace(sight);
  } catch (const std::bad_alloc&) {
    engine_.notices().try_warn_once(log_code::no_supervision, "a stuck worker is reported without a trace",
                                    "there is no memory for it");
  }
}

/// Gives the user's hook what happened before the task began and since.
void supervisor::report_trace(const task_sight& sight) const {
  const auto& hook = engine_.hooks().on_stuck_trace;
  if (!recorder_ || !hook) return;
  recording_session session(trace_session::default_events, recorder_->since());
  session.collect();
  hook(decoded(session, engine_.number(), sight.begun_after.time_since_epoch() - traced_before));
}

} // namespace corewise::detail
