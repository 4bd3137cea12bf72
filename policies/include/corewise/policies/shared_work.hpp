#pragma once

#include <corewise/policies/integer_range.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>

// How much a worker takes, from where, and how often. The engine's workers and the simulator's follow these
// rules.

namespace corewise {

/// How many own tasks a worker runs before it looks at the shared queues: as many as fit into `target`,
/// within the bounds. With the defaults that is 255 tasks of 1 µs, 100 of 10 µs, 20 of 50 µs, 10 of 100 µs
/// and 8 of 1 ms. Source: Volt.
constexpr std::uint32_t interval_of(std::chrono::nanoseconds target, std::uint64_t average_task_ns,
                                    const integer_range& bounds) noexcept {
  const std::uint64_t fitting =
      static_cast<std::uint64_t>(target.count()) / std::max<std::uint64_t>(1, average_task_ns);
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(fitting, bounds.min, bounds.max));
}

/// How many own tasks a worker runs before it looks again at queues in which it has left tasks behind, when
/// it has `own` in its ring, its slot and its deque. So no more than one of its batches runs for each turn of
/// the tasks that yield or spawn without end, and none of its own waits for ever.
constexpr std::uint32_t look_at_backlog(std::uint32_t interval, std::uint32_t own) noexcept {
  return std::min(interval, own + 1);
}

/// Returns whether a background task has its turn now that shared work is due. Looks at a backlog are due
/// more often than once in an interval; background tasks are not. `since`: tasks begun since the last one.
constexpr bool background_is_due(std::uint64_t since, std::uint32_t interval) noexcept {
  return since >= interval;
}

/// How many of `waiting` tasks one of `workers` takes at once: its share, within the bounds. Source: Volt.
constexpr std::uint32_t batch_of(std::uint32_t waiting, std::uint32_t workers,
                                 const integer_range& bounds) noexcept {
  return std::clamp(waiting / std::max(1U, workers), bounds.min, bounds.max);
}

/// Returns whether a worker takes the oldest task in the inboxes of its group: a worker does so if its tasks
/// take that long on average and it has nothing else to do next. It does so for tasks from `oldest_first`
/// on.
constexpr bool takes_oldest_first(std::optional<std::chrono::nanoseconds> oldest_first,
                                  std::uint64_t average_task_ns) noexcept {
  return oldest_first && average_task_ns >= static_cast<std::uint64_t>(oldest_first->count());
}

/// How many of `waiting` tasks a thief takes: half, rounded up.
constexpr std::uint32_t half_of(std::uint32_t waiting, std::uint32_t most) noexcept {
  return std::min((waiting + 1) / 2, most);
}

/// How many tasks go at once into a ring of that capacity with `waiting` tasks in it: they never fill more
/// than half of it.
constexpr std::uint32_t room_of(std::uint32_t capacity, std::uint32_t waiting) noexcept {
  return capacity / 2 - std::min(waiting, capacity / 2);
}

/// How many tasks come at once, at most: the first runs, and the others go into a ring that has this room.
constexpr std::uint32_t with_room(std::uint32_t most, std::uint32_t room) noexcept {
  return std::min(most, room + 1);
}

/// How many of the oldest tasks leave a full ring for another task.
constexpr std::uint32_t shed_of(std::uint32_t waiting) noexcept { return waiting / 2; }

/// How many latency tasks run before another task has its turn, if there is any: of ten tasks nine.
inline constexpr std::uint32_t latency_row = 9;

/// A tick ends at a look at the clock after the profile's budget of tasks or this time, whichever is first.
inline constexpr std::chrono::microseconds tick_time{500};
constexpr bool ends_tick(std::uint32_t tasks, std::uint32_t budget, std::chrono::nanoseconds time) noexcept {
  return tasks >= budget || time >= tick_time;
}

/// How many tasks run before a tick's first look at the clock: as many as should take a tenth of it, 16 at
/// most.
constexpr std::uint32_t first_look_of(std::uint64_t average_task_ns, std::uint32_t budget) noexcept {
  constexpr std::uint64_t tenth_ns = std::chrono::nanoseconds(tick_time).count() / 10;
  const std::uint64_t most = std::min(16U, budget); // the tasks may have become long
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(tenth_ns / std::max<std::uint64_t>(1, average_task_ns), 1, most));
}

/// The bound on the tasks between two looks at the clock: short tasks may become long from one to the next.
inline constexpr std::uint32_t most_between_looks = 128;
/// How many tasks have run at the next look at the clock, when `tasks` had at this one.
constexpr std::uint32_t look_after(std::uint32_t tasks, std::uint32_t budget) noexcept {
  return std::min(tasks + std::min(tasks, most_between_looks), budget);
}

/// The average task time of a worker that has run nothing yet.
inline constexpr std::uint64_t first_task_time_ns = 50'000;
/// The average after a tick in which `tasks` tasks, at least one, took that time.
inline std::uint64_t next_average(std::uint64_t average_ns, std::chrono::nanoseconds time,
                                  std::uint32_t tasks) noexcept {
  const auto average = static_cast<double>(average_ns);
  const double of_this_tick = static_cast<double>(time.count()) / tasks;
  return static_cast<std::uint64_t>(std::llround(average + (of_this_tick - average) / 10));
}

/// Returns whether a group publishes its workers' task time anew, which it said was `told`: a change by more
/// than an eighth is worth a line that all workers read.
constexpr bool worth_telling(std::uint64_t told_ns, std::uint64_t now_ns) noexcept {
  return (now_ns > told_ns ? now_ns - told_ns : told_ns - now_ns) > told_ns / 8;
}

} // namespace corewise
