#pragma once

#include "base/task_clock.hpp"

#include <algorithm>

namespace corewise::detail {

/// When a worker that looks for work offers its CPU to others (sched_yield) between two looks, instead of waiting with it. On
/// a CPU of its own that takes no longer than to wait; where another thread waits for the CPU, mostly one that will submit
/// work, that one runs at once. Who takes the CPU for long, a program that computes, would have the worker's share for
/// itself: so after an offer that was long in coming back there is none for a while, for longer each time, until offers have come
/// back soon for as long as there were none. ADR 0025.
class cpu_offers {
 public:
  /// Whether to offer now.
  bool due(monotonic::time_point now) const noexcept { return now >= next_; }

  /// An offer was made, and came back.
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
