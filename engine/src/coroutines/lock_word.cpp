#include "base/fence.hpp"
#include "base/futex.hpp"

#include <corewise/engine/detail/lock_word.hpp>

#include <stdexcept>
#include <string>

namespace corewise::detail {

namespace {
constexpr int looks_before_sleep = 100; // some microseconds: less than a system call and a thread switch
}

lock_word::bits lock_word::checked(bits number) {
  if (number > largest)
    throw std::invalid_argument("a semaphore, latch or barrier counts to " + std::to_string(largest) +
                                ", not to " + std::to_string(number));
  return number;
}

lock_word::bits lock_word::lock() noexcept {
  bits seen = word_.load(std::memory_order_relaxed);
  for (int looks = 0; looks < looks_before_sleep; ++looks) {
    if (locked(seen)) {
      pause_core();
      seen = word_.load(std::memory_order_relaxed);
    } else if (word_.compare_exchange_weak(seen, seen | lock_bit, std::memory_order_acquire, // pairs: word
                                           std::memory_order_relaxed)) {
      return seen;
    }
  }
  return lock_held();
}

/// Locks the word after sleeping. A thread that has slept cannot know whether others still sleep, so it
/// leaves the mark of sleepers: then the next unlock wakes one of them.
lock_word::bits lock_word::lock_held() noexcept {
  bits seen = word_.load(std::memory_order_relaxed);
  for (;;) {
    if (!locked(seen)) {
      if (word_.compare_exchange_weak(seen, seen | lock_bit | sleepers,
                                      std::memory_order_acquire, // pairs: word
                                      std::memory_order_relaxed))
        return seen;
    } else if ((seen & sleepers) != 0 ||
               word_.compare_exchange_weak(seen, seen | sleepers, std::memory_order_relaxed,
                                           std::memory_order_relaxed)) {
      futex_wait(word_, seen | sleepers);
      seen = word_.load(std::memory_order_relaxed);
    }
  }
}

/// Wakes a sleeper. Only the address is used: the word may be gone, and a thread that sleeps there then wakes
/// up for nothing.
void lock_word::wake_sleeper() noexcept { futex_wake(word_, 1); }

} // namespace corewise::detail
