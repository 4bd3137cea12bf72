#pragma once

#include <corewise/engine/detail/driving.hpp>
#include <corewise/io/asio.hpp>
#include <corewise/policies/detail/atomic.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace corewise::io::detail {

using corewise::detail::atomic;
using corewise::detail::driving;

/// The `io_context` of one locality group, in which only the group's workers look. It has work as long as it
/// lives, and is never stopped. The engine co-owns it, so it lives as long as any of its tasks.
///
/// No code of users runs while a worker looks into it: what is ready goes into the list that the worker hands
/// on.
///
/// | tag       | release site     | acquire site        | publishes             | weakened              |
/// |-----------|------------------|---------------------|-----------------------|-----------------------|
/// | interrupt | interrupt: store | interrupt: exchange | nothing; order only:  | a sleeper misses the  |
/// |           | when it has run  |                     | it, a sleeper's token | token of one that was |
/// |           |                  |                     |                       | taken for it          |
class group_context final : public asio::io_context, public driver {
 public:
  /// Throws `system_error` where the system refuses what an `io_context` needs.
  group_context(runtime& engine, group_id g);
  ~group_context() override;

  group_id group() const noexcept { return group_; }
  runtime& engine() const noexcept { return engine_; }

  // --- operations. Call from any thread.

  void begin_operation() noexcept {
    if (operations_.fetch_add(1, std::memory_order_relaxed) == 0) driving::begun(engine_, group_);
  }
  void end_operation() noexcept { operations_.fetch_sub(1, std::memory_order_relaxed); }
  /// Returns how many operations wait for their events.
  std::uint64_t operations() const noexcept { return operations_.load(std::memory_order_relaxed); }

  // --- tasks. Call from any thread.

  /// Returns whether the calling thread runs a task of this group.
  bool runs_here() const noexcept { return polled == nullptr && driving::running_in(engine_) == group_; }
  /// Returns whether the calling thread looks into this context.
  bool polled_here() const noexcept { return polled == this; }
  /// Has a coroutine go on whose operation has ended.
  void resume(corewise::detail::resumption& place) noexcept;
  /// Runs a task of the group that goes on with accepted work. Nothing refuses it.
  void go_on(task_header* t) noexcept;
  /// Submits a task to the group. Throws `system_error` where the engine refuses it: `operation_not_supported`
  /// in the child of a process fork, `no_buffer_space` while `limits.in_flight` tasks are in flight,
  /// `shut_down` while the engine shuts down.
  void submit(task_header* t, task_class c);

  // --- the driver

  std::size_t poll(std::size_t most, ready_tasks& found) noexcept override;
  void sleep(std::optional<std::chrono::nanoseconds> time, ready_tasks& found) noexcept override;
  void interrupt() noexcept override;
  bool outstanding() const noexcept override { return operations() != 0; }
  void end() noexcept override;

 private:
  class looking;
  template <class T> struct interrupt_allocator;

  void arm(std::chrono::nanoseconds time) noexcept;
  void await_alarm();

  /// The context in which the calling thread looks.
  static thread_local group_context* polled;

  runtime& engine_;
  const group_id group_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  asio::posix::stream_descriptor alarm_; // a timerfd, for the sentinel's sleep
  std::int64_t armed_ns_ = 0;            // the holder's: when it rings
  ready_tasks* found_ = nullptr;         // the holder's
  std::uint8_t single_looks_ = 0;        // the holder's: looks that take one event
  alignas(64) atomic<std::uint64_t> operations_{0};
  atomic<bool> interrupting_{false}; // the memory below is in use
  alignas(std::max_align_t) std::byte interrupt_memory_[256];
};

} // namespace corewise::io::detail
