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
/// Between the two looks the thread that looks wakes up every 20 ms. By as much as it comes late the
/// process was stopped, or had no CPU, and so perhaps had the workers that were about to take the work:
/// that time does not count.
class lost_wake_watch {
 public:
  /// Returns how long the thread may sleep before it asks `is_due` again.
  std::chrono::nanoseconds rest(monotonic::time_point now) const noexcept {
    const auto left = std::max(next_look_ - now, std::chrono::nanoseconds{1});
    return seen_ != nothing ? std::min(left, pulse) : left;
  }
  /// Returns whether it is time for a look. Call whenever the thread is awake.
  bool is_due(monotonic::time_point now) noexcept {
    if (seen_ != nothing) next_look_ += std::max(now - awake_at_ - pulse, std::chrono::nanoseconds{0});
    awake_at_ = now;
    return now >= next_look_;
  }
  /// Takes a look. `begun`: how many tasks were begun so far, if work waits beside a sleeper. Returns
  /// whether that work is lost.
  bool look(monotonic::time_point now, std::optional<std::uint64_t> begun) noexcept {
    const bool lost = begun && *begun == seen_;
    seen_ = lost ? nothing : begun.value_or(nothing);
    next_look_ = now + (seen_ == nothing ? first_look : second_look);
    return lost;
  }

 private:
  static constexpr std::uint64_t nothing = ~std::uint64_t{0};
  static constexpr std::chrono::nanoseconds first_look = std::chrono::seconds{1};
  static constexpr std::chrono::nanoseconds second_look = std::chrono::milliseconds{500};
  static constexpr std::chrono::nanoseconds pulse = std::chrono::milliseconds{20};

  monotonic::time_point next_look_;
  monotonic::time_point awake_at_;
  std::uint64_t seen_ = nothing; // tasks begun when work waited
};

} // namespace corewise::detail
