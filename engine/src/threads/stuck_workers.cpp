#include "threads/stuck_workers.hpp"

#include "worker/decoded_trace.hpp"
#include "worker/shared.hpp"
#include "worker/task_label.hpp"

#include <corewise/engine/health.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <new>
#include <system_error>
#include <utility>

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

std::int64_t milliseconds(std::chrono::nanoseconds t) noexcept { return t / 1ms; }

} // namespace

stuck_workers::stuck_workers(shared& engine)
    : engine_(engine),
      seats_(std::make_unique<seat_record[]>(engine.layout().size())) {
  set(engine.settings());
  if (engine.settings().debug.flight_recorder) recorder_.emplace();
  if (!engine.settings().debug.stack_signal) return;
  try {
    stack_signal_.emplace(*engine.settings().debug.stack_signal);
  } catch (const std::system_error& e) {
    engine.notices().warn(log_code::no_supervision,
                          std::string("stuck workers are reported without their stacks: ") + e.what());
  }
}

void stuck_workers::set(const profile& p) noexcept {
  limit_ns_.store(p.blocking.stuck_after ? p.blocking.stuck_after->count() : never,
                  std::memory_order_relaxed);
}

optional_duration stuck_workers::limit() const noexcept {
  const std::int64_t ns = limit_ns_.load(std::memory_order_relaxed);
  if (ns == never) return std::nullopt;
  return nanoseconds{ns};
}

std::chrono::nanoseconds stuck_workers::interval() const noexcept {
  return std::clamp<nanoseconds>(limit().value_or(1s) / 8, 1ms, longest_interval);
}

void stuck_workers::begin(monotonic::time_point now) noexcept {
  looked_at_ = now;
  interval_ = interval();
}

std::chrono::nanoseconds stuck_workers::look(monotonic::time_point now) noexcept {
  if (!limit()) return longest_interval;
  const nanoseconds passed = now - looked_at_;
  if (passed < interval_) return interval_ - passed;
  for (const worker_place& p : engine_.layout().workers())
    look_at(p.id, std::min(passed, 2 * interval_), now);
  looked_at_ = now;
  interval_ = engine_.idle().all_parked() ? std::min(2 * interval_, longest_interval) : interval();
  return interval_;
}

void stuck_workers::look_at(worker_id w, nanoseconds passed, monotonic::time_point now) noexcept {
  worker& seat = engine_.seat(w);
  task_sight& sight = seats_[w.value].task;
  const std::uint64_t started = seat.queues().started();
  const bool running =
      seat.entry().runs() && !seat.lender().lending(); // a task that blocks has lent the seat
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
  if (sight.reported) add_own(seats_[w.value].stuck_ns, passed.count());
  const nanoseconds longest = limit().value_or(nanoseconds::max());
  if (sight.reported || sight.age < longest / 2) return;
  if (!sight.cpu_then) {
    sight.cpu_then = cpu_time(seat.report().thread_clock());
    sight.then = now;
  }
  if (sight.age < longest) return;
  sight.reported = true;
  add_own(seats_[w.value].stuck_ns, sight.age.count());
  seats_[w.value].stands.store(true, std::memory_order_relaxed);
  add_own(seats_[w.value].stuck, 1);
  report(seat, sight, now);
}

void stuck_workers::report(worker& seat, const task_sight& sight, monotonic::time_point now) noexcept {
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
    text += unserved_sockets(seat.place().group);
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

std::string stuck_workers::unserved_sockets(group_id g) const {
  for (const worker_place& p : engine_.layout().workers())
    if (p.group == g && engine_.active(p.id) && !stands(p.id)) return {};
  std::string text;
  for (const socket_wait& w : engine_.idle().socket_waits(g, health_report::most_socket_waits))
    text +=
        fmt::format("{}{}", text.empty() ? "; no worker of its group serves sockets: " : ", ", to_text(w));
  return text;
}

/// Gives the user's hook what happened before the task began and since.
void stuck_workers::report_trace(const task_sight& sight) const {
  const auto& hook = engine_.hooks().on_stuck_trace;
  if (!recorder_ || !hook) return;
  recording_session session(engine_.number(), recorder_->since());
  session.collect();
  hook(decoded(session, sight.begun_after.time_since_epoch() - traced_before));
}

} // namespace corewise::detail
