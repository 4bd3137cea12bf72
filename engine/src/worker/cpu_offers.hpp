#pragma once

#include "base/task_clock.hpp"

#include <algorithm>

namespace corewise::detail {

/// Decides when a worker that looks for work offers its CPU to other threads (sched_yield) between two looks,
/// instead of pausing (ADR 0025). On a CPU of its own an offer takes no longer than a pause. If another
/// thread waits for the CPU, mostly one that will submit work, that thread runs at once. But a program that
/// computes would keep the CPU for long, and have the worker's share. So after an offer that came back late
/// the worker makes none for a while, for longer each time, until offers have come back soon for as long as
/// there were none.
class cpu_offers {
 public:
  /// Returns whether to offer the CPU now.
  bool due(monotonic::time_point now) const noexcept { return now >= next_; }

  /// Notes that an offer was made, and when it came back.
  void made(monotonic::time_point before, monotonic::time_point after) noexcept {
    if (after - before <= long_away) {
      if (after - next_ >= rest_) rest_ = first_rest;
      return;
    }
    next_ = after + rest_;
    rest_ = std::min(rest_ * 2, longest_rest);
  }

  static constexpr std::chrono::nanoseconds long_away = std::chrono::milliseconds{1};
  static constexpr std::chrono::nanoseconds first_rest = std::chrono::milliseconds{20};
  static constexpr std::chrono::nanoseconds longest_rest = std::chrono::seconds{10};

 private:
  std::chrono::nanoseconds rest_ = first_rest;
  monotonic::time_point next_{};
};

} // namespace corewise::detail
