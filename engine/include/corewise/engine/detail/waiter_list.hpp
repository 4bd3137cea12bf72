#pragma once

#include <corewise/engine/detail/race.hpp>
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
  const race_part* part = nullptr; ///< of the race (`select`) in which it waits; null: in none

  /// Returns whether the waiter may be granted something. Call under the lock of its list, once.
  bool claim() const noexcept {
    if (part == nullptr) [[likely]]
      return true;
    return claim_race();
  }
  /// Wake the waiter, unless its coroutine is still entering other lists: then that goes on by itself.
  void wake() noexcept {
    if (part == nullptr || meet_race()) [[likely]]
      resumption::wake();
  }
  void wake_behind() noexcept {
    if (part == nullptr || meet_race()) [[likely]]
      resumption::wake_behind();
  }

 private:
  // Functions of their own, so that waiters that are in no race save no registers for them.
  [[gnu::noinline, gnu::cold]] bool claim_race() const noexcept { return part->race->claim(*part); }
  [[gnu::noinline, gnu::cold]] bool meet_race() const noexcept { return part->race->meet(); }
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
    // A race enters again with the entry that it has.
    if (w.part == nullptr || w.entry == nullptr) [[likely]]
      w.take_entry();
  }
  /// Puts a waiter back that was taken out, in front of the others. It keeps its entry.
  void push_front(waiter& w) noexcept {
    w.before = nullptr;
    w.after = first_;
    (first_ == nullptr ? last_ : first_->before) = &w;
    first_ = &w;
    w.state = wait_state::queued;
  }
  /// Takes the waiter that has waited longest out of the list, and those before it whose race another part
  /// has won. Returns null if none waits.
  waiter* pop(wait_state gets = wait_state::granted) noexcept {
    waiter* const w = first_;
    if (w == nullptr) return nullptr;
    if (w->part != nullptr) [[unlikely]]
      return pop_racing(gets);
    remove(*w, gets);
    return w;
  }
  /// Takes out the first waiter for which `wanted` holds. Returns null if there is none. For lists in which
  /// no race waits.
  template <class F> waiter* pop_if(const F& wanted) noexcept {
    waiter* w = first_;
    while (w != nullptr && !wanted(*w)) w = w->after;
    if (w != nullptr) remove(*w, wait_state::granted);
    return w;
  }
  /// Takes out all waiters for which `wanted` holds. Returns the first, which leads to the others. For lists in
  /// which no race waits.
  template <class F> waiter* pop_each_if(const F& wanted, wait_state gets) noexcept {
    waiter* first = nullptr;
    waiter** end = &first;
    for (waiter* w = first_; w != nullptr;) {
      waiter* const next = w->after;
      if (wanted(*w)) {
        remove(*w, gets);
        *end = w;
        end = &w->after;
      }
      w = next;
    }
    return first;
  }
  /// Returns whether a waiter of another race, or of none, waits.
  bool has_other(const race_word& than) const noexcept {
    const waiter* w = first_;
    while (w != nullptr && w->part != nullptr && w->part->race == &than) w = w->after;
    return w != nullptr;
  }
  /// Takes out the waiters that have waited longest, at most `most`. Reduces `most` by their number.
  woken pop_some(std::uint32_t& most) noexcept { return pop_up_to(most, wait_state::granted); }
  woken pop_all(wait_state gets = wait_state::granted) noexcept {
    auto most = static_cast<std::uint32_t>(-1);
    return pop_up_to(most, gets);
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
  [[gnu::noinline, gnu::cold]] waiter* pop_racing(wait_state gets) noexcept {
    for (waiter* w = first_; w != nullptr; w = first_) {
      const bool claimed = w->claim();
      remove(*w, claimed ? gets : wait_state::stopped);
      if (claimed) return w;
    }
    return nullptr;
  }
  woken pop_up_to(std::uint32_t& most, wait_state gets) noexcept {
    waiter* const first = most == 0 ? nullptr : pop(gets);
    for (waiter* w = first; w != nullptr && --most != 0; w = w->after) w->after = pop(gets);
    return woken(first);
  }

  waiter* first_ = nullptr;
  waiter* last_ = nullptr;
};

} // namespace corewise::detail
