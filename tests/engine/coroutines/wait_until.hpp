#pragma once

#include <atomic>

// A wait for a number that other threads count up.

namespace corewise::tests {

inline void wait_until(const std::atomic<int>& number, int reached) {
  for (int now = number.load(); now < reached; now = number.load()) number.wait(now);
}

} // namespace corewise::tests
