#include <corewise/engine/metrics.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace corewise {

namespace {

/// One number of a snapshot. It is described once, for every form of the output.
template <class T> struct field {
  const char* name;
  const char* unit;
  const char* help;
  std::uint64_t (*value)(const T&);
};

template <level L> std::uint64_t stolen_at(const worker_metrics& w) {
  return w.stolen[static_cast<std::size_t>(L)];
}

constexpr field<worker_metrics> worker_fields[] = {
    {"active", "workers", "not retired by a profile with fewer workers",
     [](const worker_metrics& w) { return w.active; }},
    {"placed", "tasks", "sent to its queues", [](const worker_metrics& w) { return w.placed; }},
    {"executed", "tasks", "run until they ended or were suspended",
     [](const worker_metrics& w) { return w.executed; }},
    {"expired", "tasks", "of these, dropped because they had not begun at their deadline",
     [](const worker_metrics& w) { return w.expired; }},
    {"lifo_runs", "tasks", "taken from the LIFO slot and run",
     [](const worker_metrics& w) { return w.lifo_runs; }},
    {"latency_runs", "tasks", "taken from a latency queue and run",
     [](const worker_metrics& w) { return w.latency_runs; }},
    {"background_runs", "tasks", "taken from a background queue and run",
     [](const worker_metrics& w) { return w.background_runs; }},
    {"forked", "tasks", "forked by tasks on it", [](const worker_metrics& w) { return w.forked; }},
    {"in_place", "tasks", "of these, taken back and run by the task that forked them",
     [](const worker_metrics& w) { return w.in_place; }},
    {"leapfrogged", "tasks", "taken by waiting tasks from thieves of their children",
     [](const worker_metrics& w) { return w.leapfrogged; }},
    {"ticks", "times", "ended a tick", [](const worker_metrics& w) { return w.ticks; }},
    {"load", "tasks", "queued for it or run by it now", [](const worker_metrics& w) { return w.load; }},
    {"stolen_same_group", "tasks", "taken from workers of its group", stolen_at<level::same_group>},
    {"stolen_same_domain", "tasks", "taken from other groups of its domain", stolen_at<level::same_domain>},
    {"stolen_same_node", "tasks", "taken from other domains of its node", stolen_at<level::same_node>},
    {"stolen_same_package", "tasks", "taken from other nodes of its package", stolen_at<level::same_package>},
    {"stolen_cross_package", "tasks", "taken from other packages", stolen_at<level::cross_package>},
    {"injected", "tasks", "taken from injection queues", [](const worker_metrics& w) { return w.injected; }},
    {"overflowed", "tasks", "moved from its full ring to the injection queue",
     [](const worker_metrics& w) { return w.overflowed; }},
    {"spilled", "tasks", "sent to workers outside its domain",
     [](const worker_metrics& w) { return w.spilled; }},
    {"lifo_rescued", "tasks", "taken from LIFO slots where they had aged",
     [](const worker_metrics& w) { return w.lifo_rescued; }},
    {"parks", "times", "went to sleep", [](const worker_metrics& w) { return w.parks; }},
    {"wakes", "times", "was woken", [](const worker_metrics& w) { return w.wakes; }},
    {"timeouts", "times", "looked for work after a time-out",
     [](const worker_metrics& w) { return w.timeouts; }},
    {"rescued_by_timeout", "times", "found work after a time-out that no wake-up announced; stays 0",
     [](const worker_metrics& w) { return w.rescued_by_timeout; }},
    {"blocking_calls", "calls", "lent its seat to block",
     [](const worker_metrics& w) { return w.blocking_calls; }},
    {"regained_seats", "calls", "of these, ended before a spare thread took the seat",
     [](const worker_metrics& w) { return w.regained_seats; }},
    {"taken_seats", "calls", "of these, lasted until a spare thread took the seat",
     [](const worker_metrics& w) { return w.taken_seats; }},
    {"stuck", "tasks", "reported because they did not end within blocking.stuck_after",
     [](const worker_metrics& w) { return w.stuck; }},
    {"busy_ns", "ns", "from finding work to having none",
     [](const worker_metrics& w) { return static_cast<std::uint64_t>(w.busy.count()); }},
};

constexpr field<metrics_snapshot> engine_fields[] = {
    {"submitted", "tasks", "accepted", [](const metrics_snapshot& m) { return m.submitted; }},
    {"finished", "tasks", "run or dropped", [](const metrics_snapshot& m) { return m.finished; }},
    {"in_flight", "tasks", "accepted and not finished",
     [](const metrics_snapshot& m) { return m.in_flight(); }},
    {"daemons", "tasks", "daemons that have not ended", [](const metrics_snapshot& m) { return m.daemons; }},
    {"rejected", "tasks", "refused by limits.in_flight",
     [](const metrics_snapshot& m) { return m.rejected; }},
    {"failed", "tasks", "ended by an exception", [](const metrics_snapshot& m) { return m.failed; }},
    {"injection_queued", "tasks", "waiting in injection queues",
     [](const metrics_snapshot& m) { return m.injected; }},
    {"latency_placed", "tasks", "put into a latency queue, when submitted and when resumed",
     [](const metrics_snapshot& m) { return m.latency_placed; }},
    {"background_placed", "tasks", "put into a background queue, when submitted and when resumed",
     [](const metrics_snapshot& m) { return m.background_placed; }},
    {"latency_queued", "tasks", "waiting in latency queues",
     [](const metrics_snapshot& m) { return m.latency_queued; }},
    {"background_queued", "tasks", "waiting in background queues",
     [](const metrics_snapshot& m) { return m.background_queued; }},
    {"timers_pending", "timers", "sleeps and later calls that are not due yet",
     [](const metrics_snapshot& m) { return m.timers_pending; }},
    {"timers_fired", "timers", "fired when they were due",
     [](const metrics_snapshot& m) { return m.timers_fired; }},
    {"timers_cancelled", "timers", "cancelled or stopped before they were due",
     [](const metrics_snapshot& m) { return m.timers_cancelled; }},
    {"spare_threads", "threads", "waiting for a seat",
     [](const metrics_snapshot& m) { return m.spare_threads; }},
    {"spares_exhausted", "times", "stood still for want of a spare thread",
     [](const metrics_snapshot& m) { return m.spares_exhausted; }},
    {"tasks_waiting_for_a_seat", "tasks", "waiting for workers that are in blocking calls",
     [](const metrics_snapshot& m) { return m.tasks_waiting_for_a_seat; }},
    {"blocking_calls_running", "calls", "have a place under blocking.max_concurrent",
     [](const metrics_snapshot& m) { return m.blocking_calls_running; }},
    {"blocking_calls_waiting", "calls", "wait for a place now",
     [](const metrics_snapshot& m) { return m.blocking_calls_waiting; }},
    {"blocking_calls_waited", "calls", "had to wait for a place",
     [](const metrics_snapshot& m) { return m.blocking_calls_waited; }},
    {"blocking_calls_refused", "calls", "found no place, and threw blocking_full",
     [](const metrics_snapshot& m) { return m.blocking_calls_refused; }},
    {"memory_blocks_held_bytes", "bytes", "in the process's recycled blocks",
     [](const metrics_snapshot& m) { return m.memory_blocks_held_bytes; }},
    {"memory_blocks_used_bytes", "bytes", "of these, in tasks and frames, and kept by threads",
     [](const metrics_snapshot& m) { return m.memory_blocks_used_bytes; }},
    {"memory_pages_refused", "pages", "that the system did not take back",
     [](const metrics_snapshot& m) { return m.memory_pages_refused; }},
    {"reloads", "times", "took another profile", [](const metrics_snapshot& m) { return m.reloads; }},
    {"outdated", "profiles", "replaced, but some worker still uses them",
     [](const metrics_snapshot& m) { return m.outdated; }},
};

template <class T, std::size_t N>
void append_text(std::string& out, const T& values, const field<T> (&fields)[N], const char* indent) {
  for (const field<T>& f : fields)
    out += fmt::format("{}{:<24} {:>12} {:<7} {}\n", indent, f.name, f.value(values), f.unit, f.help);
}

template <class T, std::size_t N>
nlohmann::ordered_json to_object(const T& values, const field<T> (&fields)[N]) {
  nlohmann::ordered_json out;
  for (const field<T>& f : fields) out[f.name] = f.value(values);
  return out;
}

} // namespace

worker_metrics metrics_snapshot::total() const {
  worker_metrics t;
  t.active = 0;
  for (const worker_metrics& w : workers) {
    t.active += w.active;
    t.placed += w.placed;
    t.executed += w.executed;
    t.expired += w.expired;
    t.lifo_runs += w.lifo_runs;
    t.latency_runs += w.latency_runs;
    t.background_runs += w.background_runs;
    t.forked += w.forked;
    t.in_place += w.in_place;
    t.leapfrogged += w.leapfrogged;
    t.ticks += w.ticks;
    t.load += w.load;
    for (std::size_t l = 0; l < level_count; ++l) t.stolen[l] += w.stolen[l];
    t.injected += w.injected;
    t.overflowed += w.overflowed;
    t.spilled += w.spilled;
    t.lifo_rescued += w.lifo_rescued;
    t.parks += w.parks;
    t.wakes += w.wakes;
    t.timeouts += w.timeouts;
    t.rescued_by_timeout += w.rescued_by_timeout;
    t.blocking_calls += w.blocking_calls;
    t.regained_seats += w.regained_seats;
    t.taken_seats += w.taken_seats;
    t.stuck += w.stuck;
    t.busy += w.busy;
  }
  return t;
}

std::string metrics_snapshot::to_text() const {
  std::string out = "engine\n";
  append_text(out, *this, engine_fields, "  ");
  out += "all workers\n";
  append_text(out, total(), worker_fields, "  ");
  for (const worker_metrics& w : workers) {
    out += fmt::format("worker {} of group {}\n", w.worker.value, w.group.value);
    append_text(out, w, worker_fields, "  ");
  }
  return out;
}

std::string metrics_snapshot::to_json() const {
  nlohmann::ordered_json out = to_object(*this, engine_fields);
  out["workers"] = nlohmann::ordered_json::array();
  for (const worker_metrics& w : workers) {
    nlohmann::ordered_json one = {{"worker", w.worker.value}, {"group", w.group.value}};
    one.update(to_object(w, worker_fields));
    out["workers"].push_back(std::move(one));
  }
  return out.dump();
}

} // namespace corewise
