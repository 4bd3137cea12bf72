#pragma once

#include <atomic>
#include <thread>

// A task that computes until another thread lets it go on.

namespace corewise::tests {

/// Waits until a word is true, without lending its worker, as a task that computes does.
inline void stand_still_until(const std::atomic<bool>& word) {
  while (!word.load()) std::this_thread::yield();
}

} // namespace corewise::tests
