#pragma once

#include <corewise/engine/detail/resumption.hpp>
#include <corewise/engine/detail/timer_node.hpp>

#include <chrono>
#include <optional>
#include <stop_token>

namespace corewise {

namespace detail {

using steady_time = std::chrono::steady_clock::time_point;

/// Awaits a moment. Lives in the awaiting frame, and its timer in it. 88 bytes.
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
  /// False: it was stopped, and goes on. After true nothing here is the caller's.
  bool await_suspend(std::coroutine_handle<> suspended) noexcept {
    prepare(suspended);
    return set();
  }
  void await_resume() const noexcept {}

 protected:
  timer_state state() const noexcept { return timer_.state.load(std::memory_order_relaxed); }
  bool past() const noexcept { return timer_.deadline_ns <= now_ns_; }
  static bool in_engine() noexcept;
  /// Sleeps as long as the coroutine would; true.
  bool sleep_thread(const std::stop_token& token) noexcept;
  void note_stopped() noexcept { timer_.state.store(timer_state::stopped, std::memory_order_relaxed); }
  void prepare(std::coroutine_handle<> suspended) noexcept;
  bool set() noexcept;
  /// Any thread: ends the sleep if it lasts still, or has not begun.
  void stop() noexcept;

 private:
  void forget() noexcept;

  resumption place_;
  timer_node timer_;
  std::int64_t now_ns_;
};

/// As above, and a stop token ends it.
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
  bool await_suspend(std::coroutine_handle<> suspended) noexcept {
    prepare(suspended);
    stopper_.emplace(token_, stopper{this}); // it may be called here, and any time from now on
    return set();
  }
  /// Whether the moment came; false: it was stopped.
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

inline steady_time later(steady_time now, std::chrono::nanoseconds by) noexcept {
  return by > steady_time::max() - now ? steady_time::max() : now + by;
}

} // namespace detail

/// `co_await sleep_until(t)`: goes on at t or later, never before; a moment that is past suspends nobody. No thread sleeps:
/// the coroutine goes on on the worker that finds it due, behind what waits there. It wakes up within 66 us, and what the
/// kernel adds to that, while some worker has time; while all are busy within a tick (500 us), or when the first of them has
/// ended a longer task. Outside of an engine's tasks, and in a forked child, the thread sleeps. `drain` waits for a
/// task that sleeps; `shutdown` destroys it at its deadline. Cost: a lock; allocates nothing.
inline detail::sleeping sleep_until(std::chrono::steady_clock::time_point t) noexcept {
  return {std::chrono::steady_clock::now(), t};
}

/// As above, for so long from the call on.
inline detail::sleeping sleep_for(std::chrono::nanoseconds d) noexcept {
  const auto now = std::chrono::steady_clock::now();
  return {now, detail::later(now, d)};
}

/// As above, until `token` is told to stop. Answers true when the moment came, false when it was stopped. Whoever requests
/// the stop may run what it stops next.
inline detail::stoppable_sleeping sleep_until(std::chrono::steady_clock::time_point t,
                                              std::stop_token token) noexcept {
  return {std::chrono::steady_clock::now(), t, std::move(token)};
}
inline detail::stoppable_sleeping sleep_for(std::chrono::nanoseconds d, std::stop_token token) noexcept {
  const auto now = std::chrono::steady_clock::now();
  return {now, detail::later(now, d), std::move(token)};
}

} // namespace corewise
