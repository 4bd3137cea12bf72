#pragma once

#include <corewise/topology/groups.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace corewise {

/// The counts of one worker since the engine began. Counts of tasks, unless a name says otherwise.
struct worker_metrics {
  worker_id worker;
  group_id group;
  std::uint64_t active = 1;          ///< 1: takes tasks; 0: the profile has retired it
  std::uint64_t placed = 0;          ///< sent to its queues by submitters, the worker itself among them
  std::uint64_t executed = 0;        ///< run on it, until they ended or were suspended
  std::uint64_t expired = 0;         ///< of these, dropped because they had not begun at their deadline
  std::uint64_t lifo_runs = 0;       ///< of these, taken from its LIFO slot
  std::uint64_t latency_runs = 0;    ///< of these, from the latency queue of some domain
  std::uint64_t background_runs = 0; ///< of these, from the background queue of some domain
  std::uint64_t forked = 0;          ///< forked by tasks on it, into its deque
  std::uint64_t in_place = 0;        ///< of these, taken back and run within the task that had forked them
  std::uint64_t leapfrogged = 0; ///< taken, while a task on it waited, from a thief that had taken its forks
  std::uint64_t ticks = 0;       ///< ticks that ended; a tick is at most `queues.budget` tasks
  std::uint64_t load = 0;        ///< tasks that wait in its queues now, and the one that it runs
  std::array<std::uint64_t, level_count> stolen{}; ///< taken from others, by the victim's level
  std::uint64_t injected = 0;                      ///< taken from injection queues
  std::uint64_t overflowed = 0;         ///< moved from its full ring to its group's injection queue
  std::uint64_t spilled = 0;            ///< sent by tasks on it to a worker outside its domain
  std::uint64_t lifo_rescued = 0;       ///< taken by it, as the sentinel, from LIFO slots where they had aged
  std::uint64_t parks = 0;              ///< times that it went to sleep
  std::uint64_t wakes = 0;              ///< times that another thread woke it
  std::uint64_t timeouts = 0;           ///< times that the sentinel's time-out woke it
  std::uint64_t rescued_by_timeout = 0; ///< work that only a time-out found: a lost wake-up; stays 0
  std::uint64_t blocking_calls = 0;     ///< times that a task lent its seat, to block
  std::uint64_t regained_seats = 0;     ///< of these: it was back before a spare thread had come
  std::uint64_t handed_over_seats = 0;  ///< of these: a spare thread took the seat
  std::uint64_t stuck = 0;          ///< that ran for `blocking.stuck_after` or more, as the supervisor saw
  std::chrono::nanoseconds busy{0}; ///< from finding work to having none
};

/// The counts of an engine, as plain numbers. The snapshot is read without stopping any worker. So sums over
/// workers that run are approximate by what happens meanwhile, and exact at rest.
struct metrics_snapshot {
  std::vector<worker_metrics> workers; ///< by worker id
  std::uint64_t submitted = 0;
  std::uint64_t finished = 0;
  std::uint64_t rejected = 0; ///< refused by `limits.in_flight`
  std::uint64_t failed = 0;   ///< ended by an exception
  /// Tasks that wait in injection queues; from some 600 on up to 36 too many for each thread outside that has
  /// filled them.
  std::uint64_t injected = 0;
  std::uint64_t latency_placed =
      0; ///< put into a domain's latency queue, when submitted and when they went on
  std::uint64_t background_placed = 0; ///< as above, background
  std::uint64_t latency_queued = 0;    ///< waiting in latency queues
  std::uint64_t background_queued = 0; ///< waiting in background queues
  std::uint64_t timers_pending = 0;    ///< sleeps, and calls of `after` and `every`, whose time has not come
  std::uint64_t timers_fired = 0;      ///< timers whose time came
  std::uint64_t timers_cancelled = 0;  ///< cancelled or stopped before it
  std::uint64_t spare_threads = 0;
  std::uint64_t reloads = 0;  ///< profiles that were applied since the engine began
  std::uint64_t outdated = 0; ///< of these and the first: replaced, still in use; 0: all use the newest

  std::uint64_t in_flight() const noexcept { return submitted - finished; }
  /// Returns how many tasks are queued or run now: loads, injection queues and class queues together.
  /// Suspended tasks are only in flight.
  std::uint64_t waiting() const noexcept {
    return total().load + injected + latency_queued + background_queued;
  }
  worker_metrics total() const;

  std::string to_text() const;
  std::string to_json() const;
};

} // namespace corewise
