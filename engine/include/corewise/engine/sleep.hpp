#pragma once

#include <corewise/engine/detail/resumption.hpp>
#include <corewise/engine/detail/timer_node.hpp>
#include <corewise/policies/any_duration.hpp>
#include <corewise/policies/detail/clock.hpp>

#include <chrono>
#include <optional>
#include <stop_token>

namespace corewise {

namespace detail {

using steady_time = std::chrono::steady_clock::time_point;

/// Awaits a moment. Lives in the awaiting frame, and so does its timer. 96 bytes.
class [[nodiscard]] sleeping {
 public:
  /// `now` is about the present, and not later.
  sleeping(steady_time now, steady_time deadline) noexcept : now_ns_(now.time_since_epoch().count()) {
    timer_.deadline_ns = deadline.time_since_epoch().count();
  }
  sleeping(const sleeping&) = delete;
  sleeping& operator=(const sleeping&) = delete;
  ~sleeping() {
    if (state() == timer_state::pending) forget(); // its frame is destroyed
  }

  bool await_ready() noexcept { return past() || (!in_engine() && sleep_thread({})); }
  /// Returns false if the sleep was stopped, so that the coroutine goes on. After true, do not touch this
  /// again.
  template <class Promise> bool await_suspend(std::coroutine_handle<Promise> suspended) noexcept {
    prepare(suspended);
    return set();
  }
  void await_resume() const noexcept {}

  // For `select`, as in `awaiting`.

  bool try_race() noexcept { return past(); }
  static const void* race_list() noexcept { return nullptr; } // the wheel sends no race back
  /// Throws `std::logic_error` outside of an engine's coroutines.
  template <class Promise> void join_race(std::coroutine_handle<Promise> suspended) {
    check_in_engine();
    prepare(suspended);
    timer_.raced = true;
  }
  bool enter_race(const race_part& part) noexcept;
  void leave_race() noexcept;
  void end_race() noexcept {}

 protected:
  timer_state state() const noexcept { return timer_.state.load(std::memory_order_relaxed); }
  bool past() const noexcept { return timer_.deadline_ns <= now_ns_; }
  static bool in_engine() noexcept;
  static void check_in_engine();
  /// Makes the thread sleep as long as the coroutine would. Returns true.
  bool sleep_thread(const std::stop_token& token) noexcept;
  void note_stopped() noexcept { timer_.state.store(timer_state::stopped, std::memory_order_relaxed); }
  template <class Promise> void prepare(std::coroutine_handle<Promise> suspended) noexcept {
    resumption_.suspend(suspended);
    prepare_timer();
  }
  bool set() noexcept;
  /// Ends the sleep if it still lasts, or has not begun. Call from any thread.
  void stop() noexcept;

 private:
  void prepare_timer() noexcept;
  void forget() noexcept;

  resumption resumption_;
  raced_timer timer_;
  std::int64_t now_ns_;
};

/// Awaits a moment, or a stop.
class [[nodiscard]] stoppable_sleeping : public sleeping {
 public:
  stoppable_sleeping(steady_time now, steady_time deadline, std::stop_token token) noexcept
      : sleeping(now, deadline),
        token_(std::move(token)) {}

  bool await_ready() noexcept {
    if (past()) return true;
    if (!token_.stop_requested()) return !in_engine() && sleep_thread(token_);
    note_stopped();
    return true;
  }
  template <class Promise> bool await_suspend(std::coroutine_handle<Promise> suspended) noexcept {
    prepare(suspended);
    stopper_.emplace(token_, stopper{this}); // it may be called here, and any time from now on
    return set();
  }
  bool try_race() = delete; // a race takes a stop as an event
  /// Returns whether the moment came; false if the sleep was stopped.
  bool await_resume() noexcept {
    stopper_.reset(); // waits for it, unless this thread is in it
    return state() != timer_state::stopped;
  }

 private:
  struct stopper {
    stoppable_sleeping* asleep;
    void operator()() const noexcept { asleep->stop(); }
  };

  std::stop_token token_;
  std::optional<std::stop_callback<stopper>> stopper_;
};

} // namespace detail

/// `co_await sleep_until(t)`: goes on at `t` or later, never before; a past moment does not suspend the
/// coroutine. No thread sleeps: the coroutine goes on on the worker that finds its timer expired, behind the
/// tasks that wait there. It wakes up within 66 us, plus the kernel's delay, while some worker has time.
/// While all workers are busy it wakes up within a tick (500 us), or when the first of them has ended a
/// longer task. Outside of an engine's tasks, and in the child of a process fork, the thread sleeps. `drain`
/// waits for a task that sleeps; `shutdown` destroys it at its deadline. Cost: a lock; allocates nothing.
inline detail::sleeping sleep_until(any_moment t) noexcept { return {detail::monotonic::now(), t}; }

/// Sleeps as `sleep_until` does, for `d` from the call on.
inline detail::sleeping sleep_for(any_duration d) noexcept {
  const auto now = detail::monotonic::now();
  return {now, later(now, d)};
}

/// Acts as above, until `token` is told to stop. The await returns true when the moment came, false when it
/// was stopped. The thread that requests the stop may run the stopped coroutine next.
inline detail::stoppable_sleeping sleep_until(any_moment t, std::stop_token token) noexcept {
  return {detail::monotonic::now(), t, std::move(token)};
}
inline detail::stoppable_sleeping sleep_for(any_duration d, std::stop_token token) noexcept {
  const auto now = detail::monotonic::now();
  return {now, later(now, d), std::move(token)};
}

} // namespace corewise
