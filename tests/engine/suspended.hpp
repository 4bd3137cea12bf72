#pragma once

#include "small_engine.hpp"

#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

// Counts suspended coroutines, and waits for their number.

namespace corewise::tests {

inline constexpr int several = 3;

inline std::uint64_t number(const std::vector<suspended_in>& all, wait_kind kind) {
  for (const suspended_in& s : all)
    if (s.kind == kind) return s.coroutines;
  return 0;
}

inline std::uint64_t number(const std::vector<suspended_in>& all) {
  std::uint64_t sum = 0;
  for (const suspended_in& s : all) sum += s.coroutines;
  return sum;
}

inline void wait_until_suspended(engine& e, std::uint64_t coroutines) {
  while (number(e.dump().suspended) != coroutines) std::this_thread::yield();
}

/// Keeps a worker in a task from now until the engine ends, once the gate is open: what is queued does not run.
inline void hold_until_end(engine& e, gate& held) {
  const auto hold = [&] {
    held.pass();
    while (e.submit([] {}) == submit_result::accepted)
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
  };
  if (e.submit(hold) != submit_result::accepted) std::abort();
  held.wait_for(1);
}

inline void wait_until_none(const std::atomic<int>& alive) {
  while (alive != 0) std::this_thread::yield();
}

} // namespace corewise::tests
