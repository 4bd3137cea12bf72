#include "metrics/metric_table.hpp"

#include <fmt/format.h>

namespace corewise::detail {

namespace {

using engine_row = metric_row<metrics_snapshot>;
using worker_row = metric_row<worker_metrics>;
using io_row = metric_row<io_metrics>;
using enum metric_type;

template <level L> std::uint64_t stolen_at(const worker_metrics& w) {
  return w.stolen[static_cast<std::size_t>(L)];
}

template <health_state State> std::uint64_t is_in(const metrics_snapshot& m) {
  return m.health == State ? 1 : 0;
}

std::uint64_t queued_at_workers(const metrics_snapshot& m) {
  std::uint64_t waiting = 0;
  for (const worker_metrics& w : m.workers) waiting += w.load - w.running;
  return waiting;
}

/// Returns the row of a metric that these alerts read.
template <class Row> constexpr Row read_by(std::string_view alerts, Row row) {
  row.alerts = alerts;
  return row;
}

/// Returns the row of a metric whose sums are by kind of core.
constexpr worker_row by_kind(worker_row row) {
  row.by_kind = true;
  return row;
}

constexpr engine_row of_engine[] = {
    read_by("CorewiseWedged CorewiseQueueStands",
            engine_row{"health", gauge, "", "1 for the state of the engine", is_in<health_state::ok>, "state",
                       "ok"}),
    {"health", gauge, "", {}, is_in<health_state::degraded>, "state", "degraded"},
    {"health", gauge, "", {}, is_in<health_state::wedged>, "state", "wedged"},
    {"health", gauge, "", {}, is_in<health_state::ended>, "state", "ended"},
    {"tasks_submitted", counter, "tasks", "Tasks accepted",
     [](const metrics_snapshot& m) { return m.submitted; }},
    {"tasks_finished", counter, "tasks", "Tasks run or dropped",
     [](const metrics_snapshot& m) { return m.finished; }},
    {"tasks_in_flight", gauge, "tasks", "Tasks accepted and not finished",
     [](const metrics_snapshot& m) { return m.in_flight(); }},
    {"tasks_failed", counter, "tasks", "Tasks ended by an exception",
     [](const metrics_snapshot& m) { return m.failed; }},
    read_by("CorewiseTasksRefused",
            engine_row{"tasks_refused", counter, "tasks", "Tasks refused",
                       [](const metrics_snapshot& m) { return m.rejected; }, "reason", "in_flight"}),
    {"tasks_refused",
     counter,
     "tasks",
     {},
     [](const metrics_snapshot& m) { return m.refused_stopping; },
     "reason",
     "stopping"},
    {"tasks_dropped", counter, "tasks",
     "Tasks that a shutdown dropped when its time was over; they count as finished",
     [](const metrics_snapshot& m) { return m.dropped; }},
    {"daemons", gauge, "tasks", "Daemons that have not ended",
     [](const metrics_snapshot& m) { return m.daemons; }},
    {"tasks_queued", gauge, "tasks",
     "Tasks that wait in queues: those of the engine, and those of its workers together",
     [](const metrics_snapshot& m) { return m.injected; }, "queue", "injection"},
    {"tasks_queued",
     gauge,
     "tasks",
     {},
     [](const metrics_snapshot& m) { return m.latency_queued; },
     "queue",
     "latency"},
    {"tasks_queued",
     gauge,
     "tasks",
     {},
     [](const metrics_snapshot& m) { return m.background_queued; },
     "queue",
     "background"},
    {"tasks_queued", gauge, "tasks", {}, queued_at_workers, "queue", "workers"},
    {"class_queue_pushes", counter, "tasks",
     "Tasks put into the queue of their class, when submitted and when resumed",
     [](const metrics_snapshot& m) { return m.latency_placed; }, "class", "latency"},
    {"class_queue_pushes",
     counter,
     "tasks",
     {},
     [](const metrics_snapshot& m) { return m.background_placed; },
     "class",
     "background"},
    {"timers_pending", gauge, "timers", "Sleeps and later calls that are not due yet",
     [](const metrics_snapshot& m) { return m.timers_pending; }},
    {"timers_fired", counter, "timers", "Timers that fired when they were due",
     [](const metrics_snapshot& m) { return m.timers_fired; }},
    {"timers_cancelled", counter, "timers", "Timers cancelled or stopped before they were due",
     [](const metrics_snapshot& m) { return m.timers_cancelled; }},
    read_by("CorewiseQueueStands",
            engine_row{
                "oldest_task_wait_seconds", gauge, "seconds",
                "Time for which no task was taken from some queue in which tasks wait, to 100 ms",
                [](const metrics_snapshot& m) { return static_cast<std::uint64_t>(m.oldest_wait.count()); }}),
    {"spare_threads", gauge, "threads", "Threads that wait for a seat",
     [](const metrics_snapshot& m) { return m.spare_threads; }},
    {"spare_threads_in_use", gauge, "threads",
     "Threads in blocking calls, or in what follows them, whose seats spare threads have taken",
     [](const metrics_snapshot& m) { return m.spare_threads_in_use; }},
    {"spare_threads_max", gauge, "threads", "The most of these two together, blocking.spares_max",
     [](const metrics_snapshot& m) { return m.spare_threads_max; }},
    read_by("CorewiseSparesExhausted",
            engine_row{"short_of_spares", gauge, "", "1: workers stand still for want of a spare thread now",
                       [](const metrics_snapshot& m) { return m.short_of_spares; }}),
    read_by("CorewiseSparesExhausted",
            engine_row{"spares_exhausted", counter, "times",
                       "Times that workers stood still for want of a spare thread",
                       [](const metrics_snapshot& m) { return m.spares_exhausted; }}),
    {"tasks_waiting_for_a_seat", gauge, "tasks", "Tasks that wait for workers that are in blocking calls",
     [](const metrics_snapshot& m) { return m.tasks_waiting_for_a_seat; }},
    {"blocking_calls_running", gauge, "calls", "Calls that have a permit under blocking.max_concurrent",
     [](const metrics_snapshot& m) { return m.blocking_calls_running; }},
    {"blocking_calls_waiting", gauge, "calls", "Calls that wait for a permit now",
     [](const metrics_snapshot& m) { return m.blocking_calls_waiting; }},
    {"blocking_calls_delayed", counter, "calls", "Calls that have had to wait for a permit",
     [](const metrics_snapshot& m) { return m.blocking_calls_waited; }},
    {"blocking_calls_refused", counter, "calls", "Calls that found no permit, and threw blocking_full",
     [](const metrics_snapshot& m) { return m.blocking_calls_refused; }},
    {"profile_reloads", counter, "times", "Profiles applied since the engine began",
     [](const metrics_snapshot& m) { return m.reloads; }},
    {"machine_changes", counter, "times",
     "Times that the host changed what it allows (CPUs, quota, limited speeds, memory nodes, the share that "
     "other daemons leave), or that measured speeds of cores changed",
     [](const metrics_snapshot& m) { return m.machine_changes; }},
    read_by("CorewiseProfileOutdated", engine_row{"profiles_outdated", gauge, "profiles",
                                                  "Replaced profiles that some worker still uses",
                                                  [](const metrics_snapshot& m) { return m.outdated; }}),
};

// Of the process and its control group: all its engines show the same.
constexpr engine_row of_process[] = {
    {"memory_blocks_held_bytes", gauge, "bytes", "Memory in the process's recycled blocks",
     [](const metrics_snapshot& m) { return m.memory_blocks_held_bytes; }},
    {"memory_blocks_used_bytes", gauge, "bytes",
     "Of the held memory, what is in tasks and frames, or kept by threads",
     [](const metrics_snapshot& m) { return m.memory_blocks_used_bytes; }},
    {"memory_pages_refused", counter, "pages", "Pages that the system did not take back",
     [](const metrics_snapshot& m) { return m.memory_pages_refused; }},
    {"cpu_quota", gauge, "cpus",
     "The tightest CPU quota of the control group and its ancestors; 0: there is none",
     [](const metrics_snapshot& m) {
       return static_cast<std::uint64_t>(m.throttling.quota_cpus.value_or(0) * 1e9);
     }},
    read_by("CorewiseThrottled", engine_row{"cpu_quota_periods", counter, "periods",
                                            "Periods of these quotas in which there was work",
                                            [](const metrics_snapshot& m) { return m.throttling.periods; }}),
    read_by("CorewiseThrottled",
            engine_row{"cpu_throttled_periods", counter, "periods", "Periods in which a quota was used up",
                       [](const metrics_snapshot& m) { return m.throttling.throttled_periods; }}),
    {"cpu_throttled_seconds", counter, "seconds",
     "Time for which quotas have stopped threads of the control group",
     [](const metrics_snapshot& m) { return static_cast<std::uint64_t>(m.throttling.throttled.count()); }},
};

constexpr worker_row of_workers[] = {
    {"workers_active", gauge, "workers", "Workers that take tasks; the others are headroom, or retired",
     [](const worker_metrics& w) { return w.active; }},
    by_kind({"capacity", gauge, "",
             "Capacity of the cores of active workers; one on the fastest kind has 1024",
             [](const worker_metrics& w) { return w.capacity; }}),
    {"load", gauge, "tasks", "Tasks queued for workers or run by them now",
     [](const worker_metrics& w) { return w.load; }},
    {"workers_running", gauge, "workers", "Workers that run a task now; these tasks are in the load",
     [](const worker_metrics& w) { return w.running; }},
    {"busy_seconds", counter, "seconds", "Time of workers from finding work to having none",
     [](const worker_metrics& w) { return static_cast<std::uint64_t>(w.busy.count()); }},
    {"run_queue_seconds", counter, "seconds", "Time that threads of workers were ready to run but had no CPU",
     [](const worker_metrics& w) { return static_cast<std::uint64_t>(w.waited_for_cpu.count()); }},
    {"tasks_placed", counter, "tasks", "Tasks sent to the queues of workers",
     [](const worker_metrics& w) { return w.placed; }},
    {"tasks_executed", counter, "tasks", "Tasks run until they ended or were suspended",
     [](const worker_metrics& w) { return w.executed; }},
    {"tasks_expired", counter, "tasks",
     "Tasks dropped because they had not begun at their deadline; they count as executed",
     [](const worker_metrics& w) { return w.expired; }},
    read_by("CorewiseTaskStuck", worker_row{"workers_standing", gauge, "workers",
                                            "Workers whose task has run for blocking.stuck_after or more",
                                            [](const worker_metrics& w) { return w.standing; }}),
    {"tasks_stuck", counter, "tasks", "Tasks reported because they did not end within blocking.stuck_after",
     [](const worker_metrics& w) { return w.stuck; }},
    {"tasks_stuck_seconds", counter, "seconds", "Time for which tasks have run that were reported as stuck",
     [](const worker_metrics& w) { return static_cast<std::uint64_t>(w.stuck_for.count()); }},
    {"latency_tasks_on_slow_cores", counter, "tasks",
     "Tasks taken from the latency queue on a core of a slower kind than the fastest. Capacities are those "
     "that the machine or a machine file states, not measured ones",
     [](const worker_metrics& w) { return w.latency_runs_on_slow_cores; }},
    {"tasks_stolen", counter, "tasks", "Tasks taken from other workers, by how far the victim is",
     stolen_at<level::same_group>, "level", "same_group"},
    {"tasks_stolen", counter, "tasks", {}, stolen_at<level::same_domain>, "level", "same_domain"},
    {"tasks_stolen", counter, "tasks", {}, stolen_at<level::same_node>, "level", "same_node"},
    {"tasks_stolen", counter, "tasks", {}, stolen_at<level::same_package>, "level", "same_package"},
    {"tasks_stolen", counter, "tasks", {}, stolen_at<level::cross_package>, "level", "cross_package"},
    {"tasks_from_injection", counter, "tasks", "Tasks taken from injection queues",
     [](const worker_metrics& w) { return w.injected; }},
    {"tasks_from_slot", counter, "tasks", "Tasks taken from a LIFO slot and run",
     [](const worker_metrics& w) { return w.lifo_runs; }},
    {"tasks_from_class_queue", counter, "tasks", "Tasks taken from the queue of their class and run",
     [](const worker_metrics& w) { return w.latency_runs; }, "class", "latency"},
    {"tasks_from_class_queue",
     counter,
     "tasks",
     {},
     [](const worker_metrics& w) { return w.background_runs; },
     "class",
     "background"},
    {"tasks_forked", counter, "tasks", "Tasks forked", [](const worker_metrics& w) { return w.forked; }},
    {"tasks_in_place", counter, "tasks", "Forked tasks that the task that forked them took back and ran",
     [](const worker_metrics& w) { return w.in_place; }},
    {"tasks_leapfrogged", counter, "tasks", "Tasks taken by waiting tasks from thieves of their children",
     [](const worker_metrics& w) { return w.leapfrogged; }},
    {"tasks_overflowed", counter, "tasks", "Tasks moved from a full ring to the injection queue",
     [](const worker_metrics& w) { return w.overflowed; }},
    {"tasks_spilled", counter, "tasks", "Tasks that tasks sent to workers outside their domain",
     [](const worker_metrics& w) { return w.spilled; }},
    {"slot_rescues", counter, "tasks", "Tasks taken from LIFO slots where they had aged",
     [](const worker_metrics& w) { return w.lifo_rescued; }},
    {"parks", counter, "times", "Times that workers went to sleep",
     [](const worker_metrics& w) { return w.parks; }},
    {"wakes", counter, "times", "Times that another thread woke a worker",
     [](const worker_metrics& w) { return w.wakes; }},
    {"wakes_in_vain", counter, "times",
     "Wake-ups after which the worker went to sleep again without having begun a task",
     [](const worker_metrics& w) { return w.wakes_in_vain; }},
    {"park_timeouts", counter, "times", "Times that a worker looked for work after a time-out",
     [](const worker_metrics& w) { return w.timeouts; }},
    read_by("CorewiseLostWake",
            worker_row{"lost_wakes", counter, "times", "Times that only a time-out found the work; stays 0",
                       [](const worker_metrics& w) { return w.rescued_by_timeout; }}),
    {"blocking_calls", counter, "calls", "Times that a task lent its seat, to block",
     [](const worker_metrics& w) { return w.blocking_calls; }},
    {"blocking_calls_regained", counter, "calls",
     "Blocking calls that ended before a spare thread took the seat",
     [](const worker_metrics& w) { return w.regained_seats; }},
    {"blocking_calls_relieved", counter, "calls",
     "Blocking calls that lasted until a spare thread took the seat",
     [](const worker_metrics& w) { return w.taken_seats; }},
    {"ticks", counter, "times", "Ticks that ended", [](const worker_metrics& w) { return w.ticks; }},
};

constexpr histogram_row<worker_metrics> of_worker_times[] = {
    {"task_wait_seconds",
     "Time that tasks waited in queues before they were begun or went on; one of 64 is sampled",
     [](const worker_metrics& w) -> std::span<const time_histogram> { return w.waited; },
     "CorewiseTasksWaitLong"},
    {"task_run_seconds",
     "Time that tasks ran until they ended, were suspended or yielded; one of 64 is sampled",
     [](const worker_metrics& w) -> std::span<const time_histogram> { return w.ran; }},
    {"timer_lateness_seconds", "Time from when a timer was due to when it fired",
     [](const worker_metrics& w) { return std::span<const time_histogram>(&w.timers_late, 1); },
     "CorewiseTimersLate"},
};

constexpr io_row of_io[] = {
    {"io_connections_open", gauge, "connections", "Connections of listeners whose handlers have not ended",
     [](const io_metrics& g) { return g.driver.open; }},
    {"io_connections_accepted", counter, "connections", "Connections that listeners gave to handlers",
     [](const io_metrics& g) { return g.driver.accepted; }},
    {"io_connections_refused", counter, "connections",
     "Connections that listeners closed without a handler: there were too many, or no memory was left",
     [](const io_metrics& g) { return g.driver.refused; }},
    {"io_operations_waiting", gauge, "operations", "Operations that wait for their events",
     [](const io_metrics& g) { return g.driver.operations; }},
    {"io_polls", counter, "times", "Times that a worker looked for events, or slept where they come",
     [](const io_metrics& g) { return g.driver.polls; }},
    {"io_events", counter, "events",
     "Events that these looks found; each wake-up of the worker that sleeps there is one",
     [](const io_metrics& g) { return g.driver.events; }},
};

constexpr histogram_row<io_metrics> of_io_times[] = {
    {"io_ready_wait_seconds",
     "Time from when a worker found an event until the coroutine or task that awaited it went on; one of 64 "
     "is sampled",
     [](const io_metrics& g) { return std::span<const time_histogram>(&g.ready_waited, 1); }},
};

} // namespace

std::string_view to_string(metric_type type) noexcept { return type == counter ? "counter" : "gauge"; }

std::string value_text(std::uint64_t value, std::string_view unit) {
  if (!in_billionths(unit)) return fmt::format("{}", value);
  return fmt::format("{}.{:09}", value / 1'000'000'000, value % 1'000'000'000);
}

std::span<const engine_row> engine_rows() noexcept { return of_engine; }
std::span<const engine_row> process_rows() noexcept { return of_process; }
std::span<const worker_row> worker_rows() noexcept { return of_workers; }
std::span<const histogram_row<worker_metrics>> worker_times() noexcept { return of_worker_times; }
std::span<const io_row> io_rows() noexcept { return of_io; }
std::span<const histogram_row<io_metrics>> io_times() noexcept { return of_io_times; }

} // namespace corewise::detail
