#pragma once

#include <corewise/engine/detail/resumption.hpp>
#include <corewise/engine/detail/task_chain.hpp>
#include <corewise/engine/driver_counts.hpp>
#include <corewise/engine/suspended.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

namespace corewise {

/// The tasks that a driver has found ready, in order. The thread that looked queues them when the driver has returned.
/// Intrusive: it allocates nothing.
class ready_tasks {
 public:
  /// Appends a coroutine whose wait is over.
  void resume(detail::resumption& coroutine) noexcept { resumed_.push(&coroutine); }
  /// Appends a task that begins now. It is accepted whatever `limits.in_flight` says.
  void begin(task_header* t) noexcept { begun_.push(t); }

  bool empty() const noexcept { return resumed_.size + begun_.size == 0; }
  /// Take the oldest; null: there is none.
  detail::resumption* take_resumed() noexcept { return static_cast<detail::resumption*>(resumed_.pop()); }
  task_header* take_begun() noexcept { return begun_.pop(); }

 private:
  detail::task_chain resumed_;
  detail::task_chain begun_;
};

/// A source of events in which workers of one locality group look, and in which one of them sleeps while they
/// have nothing to do. The engine calls `poll` and `sleep` on one thread at a time. They run no code of users:
/// what is ready goes into `found`.
class driver {
 public:
  driver() = default;
  driver(const driver&) = delete;
  driver& operator=(const driver&) = delete;
  virtual ~driver() = default;

  /// Looks for events without waiting. Returns how many it has seen, at most `most`.
  virtual std::size_t poll(std::size_t most, ready_tasks& found) noexcept = 0;
  /// Waits for an event, `interrupt`, or the end of `time` (nothing: for ever). May return early.
  virtual void sleep(std::optional<std::chrono::nanoseconds> time, ready_tasks& found) noexcept = 0;
  /// Ends a `sleep`, or the next one if none is under way. Call from any thread.
  virtual void interrupt() noexcept = 0;
  /// Returns whether any event may come. Call from any thread. Cost: a load.
  virtual bool outstanding() const noexcept = 0;
  /// Returns which coroutines wait to read or write sockets here, at most `most`; those that have waited longest come first.
  /// Call from any thread. Cost: some locks, and a system call for each. Throws `std::bad_alloc`.
  virtual std::vector<socket_wait> waits(std::size_t most) const = 0;
  /// Returns its numbers. Those of polls and events, of accepted and refused connections never fall. Call from any thread,
  /// also after `end`. Cost: some loads; takes no lock.
  virtual driver_counts count() const noexcept = 0;
  /// Looks whether the kernel still does what `sleep` needs: a process may forbid itself calls while it runs. The engine calls it
  /// as often as it looks at its host (`topology.follow`), from any thread. Cost: some system calls.
  virtual void look_after() noexcept {}
  /// Gives up all waits for events, for no thread will look here any more. Resumes the tasks that still waited,
  /// so that they are dropped. Called once, when the engine has ended.
  virtual void end() noexcept = 0;
};

} // namespace corewise
