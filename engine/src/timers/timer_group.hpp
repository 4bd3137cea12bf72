#pragma once

#include "timers/timer_wheel.hpp"

#include <corewise/engine/detail/lock.hpp>
#include <corewise/policies/detail/atomic.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <mutex>
#include <span>

// The timers of a group: a wheel behind a lock, and one number beside it that says when to look. Any thread
// sets and cancels timers. The worker or the sentinel that looks after the group takes the expired ones.
//
// Invariant: the fate of a timer is decided under the lock. It is taken as expired, or it is cancelled, never
// both.
//
// Why a lock, and not a wheel for each worker: cancelling from another thread needs a lock anyway, a worker
// in a long task would keep its timers from its neighbours, and a worker that retires would have to move its
// timers. The lock is held for a list operation, or while at most `moved_at_once` timers move down in the
// wheel. A thread that uses no timer never takes it.

namespace corewise::detail {

class timer_group {
 public:
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

  /// Returns `from + by`, or the end of time.
  static constexpr std::int64_t later(std::int64_t from, std::int64_t by) noexcept {
    return by > never - from ? never : from + by;
  }

  enum class outcome : std::uint8_t {
    set,
    earliest, ///< set, and `next_ns` is earlier than before: the caller must tell the sentinel
    stopped,  ///< the timer was stopped before
    closed,   ///< no thread will look here any more
  };

  /// Returns when to look here next, in the steady clock's nanoseconds. May be too early, never too late. Call from
  /// any thread. Cost: one load.
  std::int64_t next_ns() const noexcept { return next_ns_.load(std::memory_order_relaxed); }

  /// Sets a timer. `now_ns` is about the present, and not later. Once the timer is set, do not touch it
  /// again. Call from any thread.
  outcome set(timer_node& t, std::int64_t now_ns) noexcept {
    const std::scoped_lock lock(mutex_);
    if (closed_) return outcome::closed;
    if (t.state.load(std::memory_order_relaxed) == timer_state::stopped) return outcome::stopped;
    t.state.store(timer_state::pending, std::memory_order_relaxed);
    wheel_.insert(t, timer_wheel::at(now_ns));
    return show_next() ? outcome::earliest : outcome::set;
  }

  /// Cancels a timer. Returns true if it was pending; it is then the caller's again. A timer that has not
  /// been set yet cannot be set any more. Call from any thread.
  bool cancel(timer_node& t) noexcept {
    const std::scoped_lock lock(mutex_);
    const timer_state state = t.state.load(std::memory_order_relaxed);
    if (state == timer_state::fired) return false;
    t.state.store(timer_state::stopped, std::memory_order_relaxed);
    if (state != timer_state::pending) return false;
    wheel_.remove(t);
    ++cancelled_;
    if (wheel_.size() == 0) next_ns_.store(never, std::memory_order_relaxed);
    return true;
  }

  /// Returns whether any timer has expired. Call from any thread.
  bool ripe(std::int64_t now_ns) noexcept {
    const std::scoped_lock lock(mutex_);
    return turn(now_ns);
  }

  /// Takes expired timers, the earliest first, as many as there is room for. Returns how many. Call from any
  /// thread.
  std::size_t take_due(std::int64_t now_ns, std::span<timer_node*> room) noexcept {
    const std::scoped_lock lock(mutex_);
    static_cast<void>(turn(now_ns));
    std::size_t taken = 0;
    while (taken < room.size()) {
      timer_node* t = wheel_.pop_due();
      if (t == nullptr) break;
      t->state.store(timer_state::fired, std::memory_order_relaxed);
      if (!claim(*t)) continue;
      room[taken++] = t;
      if (!t->again) ++fired_;
    }
    show_next();
    return taken;
  }

  /// Refuses to set timers from now on, and takes one of those that are set. Returns null if none is left.
  /// Call from any thread.
  timer_node* close() noexcept {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    timer_node* t = wheel_.pop_any();
    while (t != nullptr && !claim_at_end(*t)) {
      t->state.store(timer_state::fired, std::memory_order_relaxed);
      t = wheel_.pop_any();
    }
    if (t != nullptr) t->state.store(timer_state::fired, std::memory_order_relaxed);
    next_ns_.store(never, std::memory_order_relaxed);
    return t;
  }

  struct counts {
    std::uint64_t pending = 0;
    std::uint64_t fired = 0;
    std::uint64_t cancelled = 0;
  };
  counts count() const noexcept {
    const std::scoped_lock lock(mutex_);
    return {wheel_.size(), fired_, cancelled_};
  }

 private:
  friend struct debugger_layouts;

  static constexpr std::size_t moved_at_once = 1024; // about 50 us, where each is a cache miss

  /// Turns the wheel. Returns whether any timer has expired.
  bool turn(std::int64_t now_ns) noexcept {
    static_cast<void>(
        wheel_.advance(timer_wheel::at(now_ns), moved_at_once)); // a timer that is left makes `next_ns` 0
    show_next();
    return wheel_.any_due();
  }

  /// Updates `next_ns_`. Returns whether it is earlier than before.
  bool show_next() noexcept {
    constexpr timer_wheel::tick last = timer_wheel::at(never);
    const timer_wheel::tick next = wheel_.next();
    std::int64_t ns = never;
    if (next != timer_wheel::never)
      ns = next > last ? never - 1 : static_cast<std::int64_t>(next << timer_wheel::tick_bits);
    const std::int64_t before = next_ns();
    if (ns != before) next_ns_.store(ns, std::memory_order_relaxed);
    return ns < before;
  }

  alignas(128) atomic<std::int64_t> next_ns_{never}; // relaxed: the fences of timer_watch.hpp order it
  alignas(128) mutable mutex mutex_;
  bool closed_ = false;
  std::uint64_t fired_ = 0;
  std::uint64_t cancelled_ = 0;
  timer_wheel wheel_;
};

} // namespace corewise::detail
