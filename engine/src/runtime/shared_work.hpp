#pragma once

#include <corewise/engine/profile.hpp>

#include <algorithm>

namespace corewise::detail {

/// After how many own tasks a worker looks at the shared queues: as many as fit into `target`, within the bounds. So
/// with the defaults tasks of 1 µs are 255, of 10 µs 100, of 50 µs 20, of 100 µs 10 and of 1 ms 8. Source: Volt.
constexpr std::uint32_t interval_of(std::chrono::nanoseconds target, std::uint64_t average_task_ns,
                                    const integer_range& bounds) noexcept {
  const std::uint64_t fitting =
      static_cast<std::uint64_t>(target.count()) / std::max<std::uint64_t>(1, average_task_ns);
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(fitting, bounds.min, bounds.max));
}

/// How many of `waiting` tasks one of `workers` takes at once: its share, within the bounds. Source: Volt.
constexpr std::uint32_t batch_of(std::uint32_t waiting, std::uint32_t workers,
                                 const integer_range& bounds) noexcept {
  return std::clamp(waiting / std::max(1U, workers), bounds.min, bounds.max);
}

} // namespace corewise::detail
