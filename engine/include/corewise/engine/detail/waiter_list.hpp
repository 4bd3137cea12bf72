#pragma once

#include <corewise/engine/detail/suspension.hpp>

#include <cstdint>

namespace corewise::detail {

/// idle ──enter──► queued ──► granted, or stopped; one that is stopped while it is idle does not enter any more.
enum class wait_state : std::uint8_t {
  idle,
  queued,  ///< in a list
  granted, ///< it has what it waited for
  stopped, ///< it has not, and goes on
  taken,   ///< it went on with it
};

/// A coroutine that waits in a list, or by `sync_wait` a thread. Lives in its frame, or on its stack, and its links in it, so that
/// waiting allocates nothing. Who takes it out of the list wakes it, once, when the list is unlocked again.
struct waiter : suspension {
  waiter* after = nullptr;
  waiter* before = nullptr;
  /// Changed under the lock of the list. Read without it by who waited, and was resumed since.
  wait_state state = wait_state::idle;
};

/// Those who were taken out of a list at once, the first first.
class woken {
 public:
  woken() noexcept = default;
  explicit woken(waiter* first) noexcept : first_(first) {}

  /// Nothing is locked. The first runs next on the calling worker, the others behind what waits there; or each on its own
  /// worker when the caller is none of its engine. From then on they are not the caller's, nor what they waited for.
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

/// Who waits, in the order in which they came. Behind somebody's lock.
class waiter_list {
 public:
  bool empty() const noexcept { return first_ == nullptr; }

  void push(waiter& w) noexcept {
    w.after = nullptr;
    w.before = last_;
    (last_ == nullptr ? first_ : last_->after) = &w;
    last_ = &w;
    w.state = wait_state::queued;
    w.enter_slot();
  }
  /// The one that has waited longest; null: nobody waits.
  waiter* pop(wait_state gets = wait_state::granted) noexcept {
    waiter* const w = first_;
    if (w != nullptr) remove(*w, gets);
    return w;
  }
  /// The longest waiting, at most so many; `most` is then what is left of it.
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
  /// One that is in it.
  void remove(waiter& w, wait_state gets) noexcept {
    (w.before == nullptr ? first_ : w.before->after) = w.after;
    (w.after == nullptr ? last_ : w.after->before) = w.before;
    w.after = nullptr;
    w.state = gets;
  }
  /// Who is in it leaves, who has not entered never will; true: it was in it.
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
