#pragma once

#include <chrono>

namespace corewise::command {

using steady_time = std::chrono::steady_clock::time_point;

inline steady_time now() noexcept { return std::chrono::steady_clock::now(); }
inline double ns_between(steady_time from, steady_time to) noexcept {
  return std::chrono::duration<double, std::nano>(to - from).count();
}

/// The time in ns that two looks at the clock in a row take, a median: it is a part of every time that is
/// measured by two looks.
double clock_cost();
/// The time between two looks at the clock, less the time of the looks; not below 0.
double ns_without_clock(steady_time from, steady_time to);

} // namespace corewise::command
