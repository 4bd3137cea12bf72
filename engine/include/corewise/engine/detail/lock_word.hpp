#pragma once

#include <atomic>
#include <cassert>
#include <cstdint>

namespace corewise::detail {

/// A number, a lock, and whether anybody waits for the number to change, in one word. What needs no list of waiters is one
/// compare-and-swap while nobody holds the lock (`replace`). Who holds it has the word and the list to itself, and one
/// exchange publishes the new number and unlocks. After that exchange the word is not touched any more, so whoever sees the
/// new number may destroy what it belongs to. Its holder moves links and numbers, at most one value, and wakes nobody.
///
/// | tag  | release site                   | acquire site                          | publishes                         | weakened                                            |
/// |------|--------------------------------|---------------------------------------|-----------------------------------|-----------------------------------------------------|
/// | word | replace: CAS; unlock: exchange | look: load; replace: CAS; lock: CASes | what was done before; the waiters | a list that is half linked, and what a mutex is for |
///
/// Source of the sleeping: U. Drepper, Futexes Are Tricky, 2011.
class lock_word {
 public:
  using bits = std::uint32_t;
  static constexpr bits largest = (bits{1} << 29) - 1;

  explicit lock_word(bits number) noexcept : word_(of(number, false)) {
    assert(number <= largest && "more than a semaphore, latch or barrier can count");
  }
  lock_word(const lock_word&) = delete;
  lock_word& operator=(const lock_word&) = delete;

  static constexpr bits of(bits number, bool waited_for) noexcept {
    return number << shift | (waited_for ? waiting : 0);
  }
  static constexpr bits number(bits seen) noexcept { return seen >> shift; }
  static constexpr bool locked(bits seen) noexcept { return (seen & lock_bit) != 0; }
  static constexpr bool waited_for(bits seen) noexcept { return (seen & waiting) != 0; }
  /// Neither of them.
  static constexpr bool idle(bits seen) noexcept { return (seen & (lock_bit | waiting)) == 0; }

  bits look() const noexcept { return word_.load(std::memory_order_acquire); } // pairs: word
  /// From `seen`, which is not locked. False: it is another by now, which `seen` is then.
  bool replace(bits& seen, bits next) noexcept {
    return word_.compare_exchange_weak(seen, next, std::memory_order_acq_rel, // pairs: word
                                       std::memory_order_acquire);            // pairs: word
  }

  /// Answers the word without the lock. A thread sleeps only while another holds it, for a few dozen instructions.
  bits lock() noexcept;
  void unlock(bits next) noexcept {
    const bits before = word_.exchange(next, std::memory_order_acq_rel); // pairs: word
    assert(locked(before));
    if ((before & sleepers) != 0) [[unlikely]]
      wake_sleeper();
  }

 private:
  static constexpr bits lock_bit = 1;
  static constexpr bits sleepers = 2; // only while it is locked
  static constexpr bits waiting = 4;
  static constexpr int shift = 3;

  bits lock_held() noexcept;
  void wake_sleeper() noexcept;

  std::atomic<bits> word_;
};

} // namespace corewise::detail
