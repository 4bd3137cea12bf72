#include "base/fence.hpp"
#include "base/futex.hpp"

#include <corewise/engine/detail/lock_word.hpp>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>

namespace corewise::detail {

namespace {
// Between two looks; some microseconds in all, and then it sleeps.
constexpr int fewest_pauses = 16;
constexpr int most_pauses = 128;
} // namespace

lock_word::bits lock_word::checked(bits number) {
  if (number > largest)
    throw std::invalid_argument("a semaphore, latch or barrier counts to " + std::to_string(largest) +
                                ", not to " + std::to_string(number));
  return number;
}

/// Waits longer each time, and so leaves the word, and the lines behind it, to the holder for some operations.
lock_word::bits lock_word::lock_contended() noexcept {
  for (int pauses = fewest_pauses;; pauses = std::min(2 * pauses, most_pauses)) {
    for (int i = 0; i < pauses; ++i) pause_core();
    bits seen = word_.load(std::memory_order_relaxed);
    if (!locked(seen)) {
      if (word_.compare_exchange_weak(seen, seen | lock_bit, std::memory_order_acquire, // pairs: word
                                      std::memory_order_relaxed))
        return seen;
    } else if (pauses == most_pauses) {
      futex_wait(word_, seen, std::chrono::microseconds(50)); // the holder was preempted, most likely
    }
  }
}

} // namespace corewise::detail
