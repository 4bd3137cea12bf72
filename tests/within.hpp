#pragma once

#include <chrono>
#include <thread>

/// Returns whether the condition comes to hold in time.
template <class Condition> bool within(std::chrono::milliseconds limit, const Condition& holds) {
  const auto until = std::chrono::steady_clock::now() + limit;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::microseconds{200});
  }
  return true;
}
