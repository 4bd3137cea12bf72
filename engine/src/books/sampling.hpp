#pragma once

#include "base/clock.hpp"
#include "recording/recording.hpp"

#include <corewise/engine/detail/execution.hpp>
#include <corewise/engine/detail/task_header.hpp>

#include <chrono>
#include <cstdint>

// How long tasks wait, and how long they run: of one task in 64. A thread counts the tasks that it queues,
// stamps one, and draws how many go by until the next; so bursts of equal tasks do not fall into step with
// it. A worker that takes a stamped task knows how long it has waited (ADR 0060).

namespace corewise::detail {

/// The time of a stamp: units of 256 ns, from 2^31 on from 0 again, after 9 minutes. Its highest bit says that a driver
/// has found the task.
class queue_stamp {
 public:
  static std::uint32_t at(monotonic::time_point time, bool by_driver) noexcept {
    const std::uint32_t stamp = units_at(time) | (by_driver ? found_by_driver : 0);
    return stamp != 0 ? stamp : 1; // 0: no stamp
  }
  /// Returns how long ago that was, at `now`.
  static std::chrono::nanoseconds age(std::uint32_t stamp, monotonic::time_point now) noexcept {
    return std::chrono::nanoseconds{std::uint64_t{(at(now, false) - stamp) & ~found_by_driver} * unit};
  }
  static bool is_by_driver(std::uint32_t stamp) noexcept { return (stamp & found_by_driver) != 0; }

 private:
  static constexpr std::int64_t unit = 256;
  static constexpr std::uint32_t found_by_driver = std::uint32_t{1} << 31;

  static std::uint32_t units_at(monotonic::time_point time) noexcept {
    return static_cast<std::uint32_t>(time.time_since_epoch().count() / unit) & ~found_by_driver;
  }
};

/// Stamps the task, and draws when the next one is stamped: after 1 to 127 tasks. Of a thread's first task
/// it draws whether it is one.
[[gnu::cold, gnu::noinline]] void stamp(task_header& t, bool by_driver) noexcept;

/// Records that the task is queued.
[[gnu::cold, gnu::noinline]] void record_queued(task_header& t, const engine_number& of) noexcept;

/// Call before a task is queued from which on it waits for a worker of that engine. `by_driver`: a driver has just found
/// it. Cost: one subtraction, and what `recording` takes.
inline void note_queued(task_header& t, const engine_number& of, bool by_driver = false) noexcept {
  if (--this_execution.until_sample == 0) [[unlikely]]
    stamp(t, by_driver);
  if (recording()) [[unlikely]]
    record_queued(t, of);
}

} // namespace corewise::detail
