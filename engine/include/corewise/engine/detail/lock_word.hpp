#pragma once

#include <corewise/policies/detail/atomic.hpp>

#include <cassert>
#include <cstdint>

namespace corewise::detail {

/// A number, a lock, and whether a waiter waits for the number to change, in one word.
///
/// Invariant: the thread that holds the lock has the word and the list of waiters to itself. One store
/// publishes the new number and unlocks. After that store the thread does not touch the word any more, so a
/// thread that sees the new number may destroy the object to which the word belongs.
///
/// An operation that needs no list of waiters is one compare-and-swap while no thread holds the lock
/// (`replace`). The holder of the lock moves links and numbers, at most one value, and wakes no thread. A
/// thread that finds the lock held for longer than that, since its holder was preempted, looks again every 50
/// us: so an unlock need not know whether any thread sleeps.
///
/// | tag  | release site     | acquire site         | publishes           | weakened                    |
/// |------|------------------|----------------------|---------------------|-----------------------------|
/// | word | replace: CAS;    | look: load; replace: | what was done       | a half-linked list; a mutex |
/// |      | unlock: store    | CAS; lock: CASes     | before; the waiters | that excludes no thread     |
class lock_word {
 public:
  using bits = std::uint32_t;
  static constexpr bits largest = (bits{1} << 30) - 1;

  explicit lock_word(bits number) noexcept : word_(of(number, false)) {}
  lock_word(const lock_word&) = delete;
  lock_word& operator=(const lock_word&) = delete;

  /// Returns `number`. Throws `std::invalid_argument` when it is above `largest`.
  static bits checked(bits number);
  static constexpr bits of(bits number, bool waited_for) noexcept {
    return number << shift | (waited_for ? waiting : 0);
  }
  static constexpr bits number(bits seen) noexcept { return seen >> shift; }
  static constexpr bool locked(bits seen) noexcept { return (seen & lock_bit) != 0; }
  static constexpr bool waited_for(bits seen) noexcept { return (seen & waiting) != 0; }
  /// Returns whether the word is neither locked nor waited for.
  static constexpr bool idle(bits seen) noexcept { return (seen & (lock_bit | waiting)) == 0; }

  bits look() const noexcept { return word_.load(std::memory_order_acquire); } // pairs: word
  /// Changes the word from `seen`, which is not locked, to `next`. Returns false if the word is another by
  /// now; `seen` is then that word.
  bool replace(bits& seen, bits next) noexcept {
    return word_.compare_exchange_weak(seen, next, std::memory_order_acq_rel, // pairs: word
                                       std::memory_order_acquire);            // pairs: word
  }

  /// Locks the word. Returns it without the lock.
  bits lock() noexcept {
    bits seen = word_.load(std::memory_order_relaxed);
    if (!locked(seen) &&
        word_.compare_exchange_weak(seen, seen | lock_bit, std::memory_order_acquire, // pairs: word
                                    std::memory_order_relaxed)) [[likely]]
      return seen;
    return lock_contended();
  }
  void unlock(bits next) noexcept {
    assert(locked(word_.load(std::memory_order_relaxed)));
    word_.store(next, std::memory_order_release); // pairs: word
  }

 private:
  static constexpr bits lock_bit = 1;
  static constexpr bits waiting = 2;
  static constexpr int shift = 2;

  bits lock_contended() noexcept;

  atomic<bits> word_;
};

} // namespace corewise::detail
