#pragma once

#include <corewise/policies/integer_range.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>

// How much a worker takes, from where, and how often: the engine's workers and those of the simulator go by this.

namespace corewise {

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

/// How many of `waiting` tasks a thief takes: half, rounded up.
constexpr std::uint32_t half_of(std::uint32_t waiting, std::uint32_t most) noexcept {
  return std::min((waiting + 1) / 2, most);
}

/// Into a ring of that capacity with `waiting` tasks in it so many go at once: never more than fill half of it.
constexpr std::uint32_t room_of(std::uint32_t capacity, std::uint32_t waiting) noexcept {
  return capacity / 2 - std::min(waiting, capacity / 2);
}

/// A tick ends after the profile's budget of tasks or this time, whichever is first.
inline constexpr std::chrono::microseconds tick_time{500};
/// The average task time of a worker that has run nothing yet.
inline constexpr std::uint64_t first_task_time_ns = 50'000;
/// The average after a tick whose tasks took so long.
constexpr double next_average(double average_ns, double of_this_tick_ns) noexcept {
  return average_ns + (of_this_tick_ns - average_ns) / 10;
}

/// Whether a group whose workers' tasks were said to take `told` says so anew: by more than an eighth is worth a line that
/// all read.
constexpr bool worth_telling(std::uint64_t told_ns, std::uint64_t now_ns) noexcept {
  return (now_ns > told_ns ? now_ns - told_ns : told_ns - now_ns) > told_ns / 8;
}

} // namespace corewise
