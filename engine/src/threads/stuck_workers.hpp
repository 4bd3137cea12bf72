#pragma once

#include "base/task_clock.hpp"
#include "recording/session.hpp"
#include "threads/stack_signal.hpp"

#include <corewise/engine/profile.hpp>
#include <corewise/policies/detail/atomic.hpp>
#include <corewise/topology/ids.hpp>

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace corewise::detail {

class shared;
class worker;

/// Finds and reports tasks that do not end. The supervisor's thread looks, eight times in
/// `blocking.stuck_after` and at least every 100 ms, and reports those that have run for so long; any thread
/// may ask. Time is measured by its own looks: each counts at most twice the time that the thread meant to
/// sleep. So no worker looks stuck when the process was stopped or got no CPU. It reports only: ADR 0011.
class stuck_workers {
 public:
  using nanoseconds = std::chrono::nanoseconds;

  /// The longest time between two looks.
  static constexpr nanoseconds longest_interval = std::chrono::milliseconds{100};

  /// Throws `std::bad_alloc`.
  explicit stuck_workers(shared& engine);
  stuck_workers(const stuck_workers&) = delete;
  stuck_workers& operator=(const stuck_workers&) = delete;

  /// Puts a new profile in force. Call from one thread at a time.
  void set(const profile& settings) noexcept;

  // --- for the supervisor's thread

  /// Begins to look: the workers were all asleep before.
  void begin(monotonic::time_point now) noexcept;
  /// Looks at the workers' tasks, if it is time. Returns the time until the next look.
  nanoseconds look(monotonic::time_point now) noexcept;

  // --- for any thread

  /// Returns for how long a task may run before it is reported; nothing: for ever.
  optional_duration limit() const noexcept;
  /// Returns whether the task that the worker runs was reported. Without a limit no task is looked at.
  bool stands(worker_id w) const noexcept {
    return limit() && seats_[w.value].stands.load(std::memory_order_relaxed);
  }
  /// Returns how many tasks of the worker were reported.
  std::uint64_t count(worker_id w) const noexcept {
    return seats_[w.value].stuck.load(std::memory_order_relaxed);
  }
  /// Returns for how long tasks of the worker have run that were reported.
  nanoseconds time(worker_id w) const noexcept {
    return nanoseconds{seats_[w.value].stuck_ns.load(std::memory_order_relaxed)};
  }

 private:
  static constexpr std::int64_t never = -1;

  struct task_sight {
    std::uint64_t started = 0;
    bool running = false;
    bool reported = false;
    monotonic::time_point begun_after;   // the look before the one that found the task
    monotonic::time_point seen;          // the last look
    nanoseconds age{0};                  // on the supervisor's own clock
    std::optional<nanoseconds> cpu_then; // the CPU time that its thread had used
    monotonic::time_point then;          // the time of `cpu_then`
  };
  struct seat_record {
    task_sight task; // of the supervisor's thread
    // Single writer: the supervisor; relaxed: for people.
    atomic<bool> stands{false}; // the task that runs was reported
    atomic<std::uint64_t> stuck{0};
    atomic<std::int64_t> stuck_ns{0};
  };

  nanoseconds interval() const noexcept;
  void look_at(worker_id w, nanoseconds passed, monotonic::time_point now) noexcept;
  void report(worker& seat, const task_sight& sight, monotonic::time_point now) noexcept;
  /// Returns a part of a report: what waits for the sockets of a group whose workers all stand.
  std::string unserved_sockets(group_id g) const;
  void report_trace(const task_sight& sight) const;
  /// Returns the stack of a thread of the engine, a line for each call; empty unless the profile has a
  /// `debug.stack_signal`.
  std::string stack_of(pid_t tid) const { return stack_signal_ ? stack_signal_->stack_of(tid) : ""; }

  shared& engine_;
  std::optional<stack_signal> stack_signal_;
  std::optional<flight_recorder> recorder_; // for its reports
  const std::unique_ptr<seat_record[]> seats_;
  nanoseconds interval_{0}; // between the last look and the next
  monotonic::time_point looked_at_;
  atomic<std::int64_t> limit_ns_{never}; // relaxed: a setting by itself
};

} // namespace corewise::detail
