#pragma once

#include <corewise/engine/detail/suspension.hpp>

#include <cstdint>

namespace corewise::detail {

/// idle ──enter──► queued ──► granted, or stopped; a waiter that is stopped while it is idle does not enter
/// any more.
enum class wait_state : std::uint8_t {
  idle,
  queued,  ///< in a list
  granted, ///< it has what it waited for
  stopped, ///< it has not, and goes on
  taken,   ///< it has what it waited for, and went on
};

/// A coroutine that waits in a list, or by `sync_wait` a thread. The waiter and its links live in the
/// coroutine's frame, or on the thread's stack, so that waiting allocates nothing. The thread that takes the
/// waiter out of the list wakes it, once, when the list is unlocked again.
struct waiter : suspension {
  waiter* after = nullptr;
  waiter* before = nullptr;
  /// Changed under the lock of the list. The waiter reads it without the lock, after it was resumed.
  wait_state state = wait_state::idle;
};

/// The waiters that were taken out of a list at once, in order.
class woken {
 public:
  woken() noexcept = default;
  explicit woken(waiter* first) noexcept : first_(first) {}

  /// Wakes the waiters. The first runs next on the calling worker, and the others go behind the tasks that
  /// wait there; or each runs on its own worker when the caller is no worker of its engine. Call without any
  /// lock. From then on do not touch the waiters, nor what they waited for.
  void wake() const noexcept {
    waiter* w = first_;
    if (w == nullptr) return;
    waiter* rest = w->after;
    w->wake();
    while (rest != nullptr) {
      w = rest;
      rest = w->after;
      w->wake_behind();
    }
  }

 private:
  waiter* first_ = nullptr;
};

/// The waiters, in the order in which they came. The lock of its owner guards the list.
class waiter_list {
 public:
  bool empty() const noexcept { return first_ == nullptr; }

  void push(waiter& w) noexcept {
    w.after = nullptr;
    w.before = last_;
    (last_ == nullptr ? first_ : last_->after) = &w;
    last_ = &w;
    w.state = wait_state::queued;
    w.take_entry();
  }
  /// Takes the waiter that has waited longest out of the list. Returns null if none waits.
  waiter* pop(wait_state gets = wait_state::granted) noexcept {
    waiter* const w = first_;
    if (w != nullptr) remove(*w, gets);
    return w;
  }
  /// Takes out the waiters that have waited longest, at most `most`. Reduces `most` by their number.
  woken pop_some(std::uint32_t& most) noexcept {
    waiter* const first = first_;
    waiter* end = first;
    for (; end != nullptr && most != 0; --most) {
      end->state = wait_state::granted;
      end = end->after;
    }
    if (end == first) return {};
    waiter* const last = end == nullptr ? last_ : end->before;
    last->after = nullptr;
    first_ = end;
    (end == nullptr ? last_ : end->before) = nullptr;
    return woken(first);
  }
  woken pop_all(wait_state gets = wait_state::granted) noexcept {
    waiter* const first = first_;
    for (waiter* w = first; w != nullptr; w = w->after) w->state = gets;
    first_ = last_ = nullptr;
    return woken(first);
  }
  /// Takes out a waiter that is in the list.
  void remove(waiter& w, wait_state gets) noexcept {
    (w.before == nullptr ? first_ : w.before->after) = w.after;
    (w.after == nullptr ? last_ : w.after->before) = w.before;
    w.after = nullptr;
    w.state = gets;
  }
  /// Stops a waiter: takes it out of the list, or, if it has not entered, keeps it from entering. Returns
  /// whether it was in the list.
  bool stop(waiter& w) noexcept {
    if (w.state == wait_state::queued) return remove(w, wait_state::stopped), true;
    if (w.state == wait_state::idle) w.state = wait_state::stopped;
    return false;
  }

 private:
  waiter* first_ = nullptr;
  waiter* last_ = nullptr;
};

} // namespace corewise::detail
