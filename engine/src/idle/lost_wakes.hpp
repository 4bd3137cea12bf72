#pragma once

#include "base/task_clock.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace corewise::detail {

/// When to look for work whose wake-up got lost, and what counts as such work. There is never any, unless
/// the engine has a fault: so `rescued_by_timeout` counts it.
///
/// Invariant: work is lost if it waits at two looks, 500 ms of running time apart, and no worker began any
/// task in between. One look proves nothing: a producer may lose its CPU for a while between its push and
/// its wake-up.
///
/// Between the two looks the looking thread wakes up every 20 ms. By as much as it comes late the process
/// was stopped, or had no CPU, and so perhaps had the workers that were about to take the work: that time
/// does not count.
class lost_wake_watch {
 public:
  static constexpr std::chrono::nanoseconds patience_min = std::chrono::milliseconds{1};

  lost_wake_watch(monotonic::time_point now, std::chrono::nanoseconds patience) noexcept
      : patience_(patience),
        next_look_(now + patience) {}

  /// Returns how long the thread may sleep before `note_sleep`.
  std::chrono::nanoseconds rest(monotonic::time_point now) const noexcept {
    const auto left = std::max(next_look_ - now, std::chrono::nanoseconds{1});
    return seen_ != nothing ? std::min(left, pulse) : left;
  }
  /// Notes that the thread meant to sleep for `rest`.
  void note_sleep(monotonic::time_point began, std::chrono::nanoseconds rest,
                  monotonic::time_point ended) noexcept {
    if (seen_ != nothing) next_look_ += std::max(ended - began - rest, std::chrono::nanoseconds{0});
  }
  bool due(monotonic::time_point now) const noexcept { return now >= next_look_; }
  /// Takes a look. `begun`: how many tasks were begun so far, if work waits. Returns whether that work is
  /// lost. Looks become rarer while no work waits, down to one a second.
  bool look(monotonic::time_point now, std::optional<std::uint64_t> begun) noexcept {
    if (begun && *begun == seen_) return true;
    patience_ = begun ? second_look : std::min(patience_ * 2, patience_max);
    seen_ = begun.value_or(nothing);
    next_look_ = now + patience_;
    return false;
  }

 private:
  static constexpr std::uint64_t nothing = ~std::uint64_t{0};
  static constexpr std::chrono::nanoseconds patience_max = std::chrono::seconds{1};
  static constexpr std::chrono::nanoseconds second_look = std::chrono::milliseconds{500};
  static constexpr std::chrono::nanoseconds pulse = std::chrono::milliseconds{20};

  std::chrono::nanoseconds patience_;
  monotonic::time_point next_look_;
  std::uint64_t seen_ = nothing; // tasks begun when work waited
};

} // namespace corewise::detail
