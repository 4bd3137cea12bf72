#pragma once

#include <corewise/engine/driver_counts.hpp>
#include <corewise/engine/health.hpp>
#include <corewise/policies/task_class.hpp>
#include <corewise/topology/groups.hpp>
#include <corewise/topology/throttling.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

namespace corewise {

/// Counts of times, by powers of two. The last count is of those above all bounds.
struct time_histogram {
  static constexpr std::size_t bounds = 24;
  /// Returns the upper bound of `counts[i]`, i < `bounds`: from 1 us to 8.4 s.
  static constexpr std::chrono::nanoseconds bound(std::size_t i) noexcept {
    return std::chrono::nanoseconds{std::int64_t{1000} << i};
  }

  std::array<std::uint64_t, bounds + 1> counts{};
  std::chrono::nanoseconds sum{0};

  std::uint64_t count() const noexcept {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  }
  /// Returns a time below which a part `q` of them is, 0 < q <= 1, within a factor of two: the bound of its
  /// count. Without times, or above all bounds, the largest value.
  std::chrono::nanoseconds quantile(double q) const noexcept;
  time_histogram& operator+=(const time_histogram& other) noexcept;
};

/// The counts of one worker since the engine began. Counts of tasks, unless a name says otherwise.
struct worker_metrics {
  worker_id worker;
  group_id group;
  std::uint64_t active = 0;          ///< 1: takes tasks; 0: headroom, or retired
  std::uint64_t capacity = 0;        ///< of its core, 1024 on the fastest kind; 0: retired
  std::uint64_t placed = 0;          ///< sent to its queues by submitters, the worker itself among them
  std::uint64_t executed = 0;        ///< run on it, until they ended or were suspended
  std::uint64_t expired = 0;         ///< of the executed, dropped: they had not begun at their deadline
  std::uint64_t lifo_runs = 0;       ///< of the executed, taken from its LIFO slot
  std::uint64_t latency_runs = 0;    ///< of the executed, taken from the latency queue of some domain
  std::uint64_t background_runs = 0; ///< of the executed, taken from the background queue of some domain
  std::uint64_t forked = 0;          ///< forked by tasks on it, into its deque
  std::uint64_t in_place = 0;        ///< of the forked, taken back and run in the task that forked them
  std::uint64_t leapfrogged = 0; ///< taken, while a task on it waited, from a thief that had taken its forks
  std::uint64_t ticks = 0;       ///< ticks that ended; a tick is at most `queues.budget` tasks
  std::uint64_t load = 0;        ///< tasks that wait in its queues now, and the one that it runs
  std::uint64_t running = 0;     ///< 1: it runs a task now; that one is in `load`
  std::array<std::uint64_t, level_count> stolen{}; ///< taken from others, by the victim's level
  /// The group of the last victim, by the same levels; its own group where there was none. Not in sums.
  std::array<group_id, level_count> victims{};
  std::uint64_t injected = 0;     ///< taken from injection queues
  std::uint64_t overflowed = 0;   ///< moved from its full ring to its group's injection queue
  std::uint64_t spilled = 0;      ///< sent by tasks on it to a worker outside its domain
  std::uint64_t lifo_rescued = 0; ///< taken from its LIFO slot, where they had aged, and given to others
  std::uint64_t parks = 0;        ///< times that it went to sleep
  std::uint64_t wakes = 0;        ///< times that another thread woke it
  /// Of these wake-ups, those after which it went to sleep again without having begun a task.
  std::uint64_t wakes_in_vain = 0;
  std::uint64_t timeouts = 0;           ///< times that a time-out of `idle.park_timeout` woke it
  std::uint64_t rescued_by_timeout = 0; ///< lost wake-ups: only a time-out found the work; stays 0
  std::uint64_t blocking_calls = 0;     ///< times that a task lent its seat, to block
  std::uint64_t regained_seats = 0;     ///< of these calls, ended before a spare thread had come
  std::uint64_t taken_seats = 0;        ///< of these calls, those in which a spare thread took the seat
  std::uint64_t standing = 0;           ///< 1: its task has run for `blocking.stuck_after` or more
  std::uint64_t stuck = 0; ///< tasks that the supervisor saw run for `blocking.stuck_after` or more
  std::chrono::nanoseconds stuck_for{0}; ///< how long these have run
  /// Of the latency runs, those on a core of a slower kind than the machine's fastest.
  std::uint64_t latency_runs_on_slow_cores = 0;
  std::chrono::nanoseconds busy{0}; ///< from finding work to having none
  std::chrono::nanoseconds waited_for_cpu{
      0}; ///< its threads, ready to run but without a CPU; a second old at most
  /// By class: how long tasks waited in queues before they were begun or went on, and how long they ran,
  /// until they ended or were suspended. Samples: one task of 64 on average. Forked children and yields are
  /// not sampled.
  std::array<time_histogram, class_count> waited{};
  std::array<time_histogram, class_count> ran{};
  time_histogram timers_late{}; ///< of each timer that fired on it: how late; of a call, since its last try

  worker_metrics& operator+=(const worker_metrics& other) noexcept; ///< adds the numbers
};

/// The parts for which a form of the output has numbers of their own.
enum class metrics_detail : std::uint8_t {
  automatic, ///< groups; for a scraper sums alone, if that were more than 500 series an engine
  sums,
  groups,
  workers,
};

/// The I/O of a locality group, or the sums of several.
struct io_metrics {
  group_id group;
  driver_counts driver;
  /// How long coroutines and tasks waited from when some worker had found their event until a worker of this group went on
  /// with them. Samples: these are among those of `worker_metrics::waited`.
  time_histogram ready_waited{};

  io_metrics& operator+=(const io_metrics& other) noexcept; ///< adds the numbers
};

/// The facts of a locality group that do not change.
struct group_facts {
  group_id group;
  std::string kind; ///< the name of its kind of core
};

/// The counts of an engine, as plain numbers. The snapshot is read without stopping any worker. So sums over
/// workers that run are approximate by what happens meanwhile, and exact at rest.
struct metrics_snapshot {
  std::string engine;                  ///< its name among several (`engine_set`); empty: it is alone
  std::vector<worker_metrics> workers; ///< by worker id
  std::vector<group_facts> groups;     ///< by group, of those that have workers
  std::vector<io_metrics> io; ///< by group, of those that have a driver: without an `io::service`, none
  health_state health = health_state::ok;
  std::string profile_hash;   ///< of the profile in force, as text; 8 hexadecimal digits
  std::string profile_source; ///< where it came from (`profile::source`)
  cpu_throttling throttling;  ///< a second old at most
  std::uint64_t submitted = 0;
  std::uint64_t finished = 0;
  std::uint64_t daemons = 0;  ///< (`hint::daemon`) that have not ended; not among the tasks counted above
  std::uint64_t rejected = 0; ///< refused by `limits.in_flight`
  std::uint64_t refused_stopping = 0; ///< refused because the engine shuts down, or has
  std::uint64_t dropped = 0;          ///< dropped by a shutdown whose time was over
  std::uint64_t failed = 0;           ///< ended by an exception
  /// Tasks that wait in injection queues. Above some 600 the number may be too high, by up to 36 for each
  /// thread outside that puts tasks there.
  std::uint64_t injected = 0;
  std::uint64_t latency_placed =
      0; ///< put into a domain's latency queue, when submitted and when they went on
  std::uint64_t background_placed = 0; ///< as above, background
  std::uint64_t latency_queued = 0;    ///< waiting in latency queues
  std::uint64_t background_queued = 0; ///< waiting in background queues
  std::uint64_t timers_pending = 0;    ///< sleeps, and calls of `after` and `every`, whose time has not come
  std::uint64_t timers_fired = 0;      ///< timers whose time came
  std::uint64_t timers_cancelled = 0;  ///< cancelled or stopped before it
  /// For how long at least the oldest queued task has waited: how long no task was taken from some queue in which tasks
  /// wait, to 100 ms. Tasks in LIFO slots and forks do not count. 0 where the supervisor watches nothing.
  std::chrono::nanoseconds oldest_wait{0};
  std::uint64_t spare_threads = 0;        ///< threads that wait for a seat
  std::uint64_t spare_threads_in_use = 0; ///< threads in blocking calls, whose seats spare threads have taken
  std::uint64_t spare_threads_max = 0;    ///< `blocking.spares_max`
  std::uint64_t short_of_spares = 0;      ///< 1: workers stand still for want of a spare thread now
  std::uint64_t spares_exhausted = 0;     ///< times that workers stood still for want of a spare thread
  /// Tasks that wait for workers whose tasks are in blocking calls, and that no spare thread has relieved.
  std::uint64_t tasks_waiting_for_a_seat = 0;
  /// Calls of `blocking` and `run_blocking` that have a permit under `blocking.max_concurrent`. Without that
  /// limit calls are not counted here.
  std::uint64_t blocking_calls_running = 0;
  std::uint64_t blocking_calls_waiting = 0; ///< that wait for a permit now, suspended or on their thread
  std::uint64_t blocking_calls_waited = 0;  ///< that have had to wait for a permit
  std::uint64_t blocking_calls_refused = 0; ///< that threw `blocking_full`
  /// Memory of the process's recycled blocks, of all engines together: in pages that the system has given and
  /// not got back; of these, in tasks and frames, and in the blocks that each thread keeps, up to 95 of a size.
  std::uint64_t memory_blocks_held_bytes = 0;
  std::uint64_t memory_blocks_used_bytes = 0;
  std::uint64_t memory_pages_refused = 0; ///< pages that the system did not take back, as under `mlockall`
  std::uint64_t reloads = 0;              ///< profiles that were applied since the engine began
  std::uint64_t machine_changes = 0;      ///< times that the host, or measured speeds, have changed
  std::string last_machine_change;        ///< what changed then, and what it led to; empty: nothing has
  std::uint64_t outdated = 0; ///< replaced profiles that some worker still uses; 0: all use the newest

  std::uint64_t in_flight() const noexcept { return submitted - finished; }
  /// Returns how many tasks are queued or run now: loads, injection queues and class queues together.
  /// Suspended tasks are only in flight.
  std::uint64_t waiting() const noexcept {
    return total().load + injected + latency_queued + background_queued;
  }
  worker_metrics total() const;
  io_metrics io_total() const;

  /// Return all numbers; docs/metrics.md has their names.
  std::string to_text() const;
  std::string to_json(metrics_detail of = metrics_detail::workers) const;
  /// Return what a scraper reads: Prometheus' text format 0.0.4 (content type `text/plain; version=0.0.4`),
  /// and OpenMetrics 1.0 (`application/openmetrics-text; version=1.0.0; charset=utf-8`). Cost: about 100 ns a
  /// series.
  std::string to_prometheus(metrics_detail of = metrics_detail::automatic) const;
  std::string to_openmetrics(metrics_detail of = metrics_detail::automatic) const;
};

/// Return the same of several engines: for a scraper their series have the label `engine`, and those of the process stand
/// there once; in JSON there is an object `engines`, by name.
std::string to_json(std::span<const metrics_snapshot> engines, metrics_detail of = metrics_detail::workers);
std::string to_prometheus(std::span<const metrics_snapshot> engines,
                          metrics_detail of = metrics_detail::automatic);
std::string to_openmetrics(std::span<const metrics_snapshot> engines,
                           metrics_detail of = metrics_detail::automatic);

/// Returns docs/metrics.md: all metrics, as Markdown.
std::string metrics_reference();

} // namespace corewise
