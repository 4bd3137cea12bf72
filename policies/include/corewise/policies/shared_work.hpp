#pragma once

#include <corewise/policies/integer_range.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>

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

/// When a worker looks again at shared queues in which a look has left tasks behind.
enum class backlog_look : std::uint8_t {
  turn,     ///< when as many tasks have run as wait in its ring
  interval, ///< after the interval, as if nothing were left
};
/// After how many own tasks a worker looks again at queues in which a look has left tasks behind, by which it has
/// `in_ring` in its ring. So no more than one of its batches runs for each turn of those that yield or spawn without end.
constexpr std::uint32_t look_at_backlog(backlog_look rule, std::uint32_t interval,
                                        std::uint32_t in_ring) noexcept {
  return rule == backlog_look::turn ? std::min(interval, in_ring + 1) : interval;
}

/// Whether a background task has its turn now that shared work is due: looks at a backlog are due more often than once in an
/// interval, background tasks are not. `since`: tasks begun since the last one.
constexpr bool background_is_due(std::uint32_t since, std::uint32_t interval) noexcept {
  return since >= interval;
}

/// How many of `waiting` tasks one of `workers` takes at once: its share, within the bounds. Source: Volt.
constexpr std::uint32_t batch_of(std::uint32_t waiting, std::uint32_t workers,
                                 const integer_range& bounds) noexcept {
  return std::clamp(waiting / std::max(1U, workers), bounds.min, bounds.max);
}

/// Whether a worker whose tasks take that long on average, and which has nothing else to do next, takes what came first of what
/// waits in the inboxes of its group: with tasks from `oldest_first` on.
constexpr bool takes_oldest_first(std::optional<std::chrono::nanoseconds> oldest_first,
                                  std::uint64_t average_task_ns) noexcept {
  return oldest_first && average_task_ns >= static_cast<std::uint64_t>(oldest_first->count());
}

/// How many of `waiting` tasks a thief takes: half, rounded up.
constexpr std::uint32_t half_of(std::uint32_t waiting, std::uint32_t most) noexcept {
  return std::min((waiting + 1) / 2, most);
}

/// Into a ring of that capacity with `waiting` tasks in it so many go at once: never more than fill half of it.
constexpr std::uint32_t room_of(std::uint32_t capacity, std::uint32_t waiting) noexcept {
  return capacity / 2 - std::min(waiting, capacity / 2);
}

/// At most so many tasks come at once, of which the first runs and the others go into a ring that has this room.
constexpr std::uint32_t with_room(std::uint32_t most, std::uint32_t room) noexcept {
  return std::min(most, room + 1);
}

/// So many of the oldest leave a full ring for another task.
constexpr std::uint32_t shed_of(std::uint32_t waiting) noexcept { return waiting / 2; }

/// So many latency tasks run before another has its turn, if there is any: of ten tasks nine.
inline constexpr std::uint32_t latency_row = 9;

/// A tick ends after the profile's budget of tasks or this time, whichever is first, at a look at the clock.
inline constexpr std::chrono::microseconds tick_time{500};
constexpr bool ends_tick(std::uint32_t tasks, std::uint32_t budget, std::chrono::nanoseconds time) noexcept {
  return tasks >= budget || time >= tick_time;
}

/// A tick's first look at the clock is after as many tasks as should take a tenth of it, 16 at most.
constexpr std::uint32_t first_look_of(std::uint64_t average_task_ns, std::uint32_t budget) noexcept {
  constexpr std::uint64_t tenth_ns = std::chrono::nanoseconds(tick_time).count() / 10;
  const std::uint64_t most = std::min(16U, budget); // the tasks may have become long
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(tenth_ns / std::max<std::uint64_t>(1, average_task_ns), 1, most));
}

/// Short tasks may become long ones from one to the next.
inline constexpr std::uint32_t most_between_looks = 128;
/// The look after the one that comes after so many tasks.
constexpr std::uint32_t look_after(std::uint32_t tasks, std::uint32_t budget) noexcept {
  return std::min(tasks + std::min(tasks, most_between_looks), budget);
}

/// The average task time of a worker that has run nothing yet.
inline constexpr std::uint64_t first_task_time_ns = 50'000;
/// The average after a tick in which so many tasks, not none, took that time.
inline std::uint64_t next_average(std::uint64_t average_ns, std::chrono::nanoseconds time,
                                  std::uint32_t tasks) noexcept {
  const auto average = static_cast<double>(average_ns);
  const double of_this_tick = static_cast<double>(time.count()) / tasks;
  return static_cast<std::uint64_t>(std::llround(average + (of_this_tick - average) / 10));
}

/// Whether a group whose workers' tasks were said to take `told` says so anew: by more than an eighth is worth a line that
/// all read.
constexpr bool worth_telling(std::uint64_t told_ns, std::uint64_t now_ns) noexcept {
  return (now_ns > told_ns ? now_ns - told_ns : told_ns - now_ns) > told_ns / 8;
}

} // namespace corewise
