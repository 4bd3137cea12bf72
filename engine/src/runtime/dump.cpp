#include "base/json_text.hpp"
#include "runtime/runtime.hpp"
#include "worker/lent_seats.hpp"
#include "worker/task_label.hpp"

#include <corewise/engine/detail/task_header.hpp>
#include <corewise/engine/dump.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace corewise {

namespace {

std::optional<std::int64_t> microseconds(const std::optional<std::chrono::nanoseconds>& t) {
  if (!t) return std::nullopt;
  return std::chrono::duration_cast<std::chrono::microseconds>(*t).count();
}

std::string text_or_null(std::string_view text) { return text.empty() ? "null" : detail::json_text(text); }

std::string json_of(const seat_dump& s) {
  const auto age = microseconds(s.task_age);
  return fmt::format(
      R"({{"worker": {}, "group": {}, "state": "{}", "load": {}, "ring": {}, "inbox": {}, "forks": {}, )"
      R"("lifo_slot": {}, "task_kind": {}, "task_name": {}, "task_id": {}, "task_age_us": {}, "stuck": {}}})",
      s.worker.value, s.group.value, to_string(s.state), s.load.total(), s.ring_depth, s.inbox_depth,
      s.fork_depth, s.load.slot, text_or_null(s.task_kind), text_or_null(s.task_name),
      text_or_null(s.task_id ? to_string(s.task_id) : std::string()), age ? std::to_string(*age) : "null",
      s.stuck);
}

std::string json_of(const socket_wait& w) {
  return fmt::format(R"({{"group": {}, "kind": "{}", "descriptor": {}, "peer": {}, "time_us": {}}})",
                     w.group.value, to_string(w.kind), w.descriptor, detail::json_text(w.peer),
                     *microseconds(w.time));
}

std::string json_of(const class_depths& c) {
  return fmt::format(R"({{"latency": {}, "background": {}}})", c.latency, c.background);
}

/// Returns a list with a line for each element.
template <class T> std::string json_of(const std::vector<T>& all) {
  std::string out;
  for (const T& one : all) out += (out.empty() ? "[\n    " : ",\n    ") + json_of(one);
  return out.empty() ? "[]" : out + "\n  ]";
}

std::string json_of(const std::vector<suspended_in>& all) {
  std::string out;
  for (const suspended_in& s : all)
    out += fmt::format(R"({}"{}": {})", out.empty() ? "" : ", ", to_string(s.kind), s.coroutines);
  return "{" + out + "}";
}

} // namespace

std::string_view to_string(seat_state state) noexcept {
  switch (state) {
  case seat_state::running: return "running";
  case seat_state::blocking: return "blocking";
  case seat_state::searching: return "searching";
  case seat_state::parked: return "parked";
  case seat_state::retired: return "retired";
  case seat_state::between: break;
  }
  return "between";
}

std::string engine_dump::to_text() const {
  std::string out = fmt::format("{} tasks in flight, {} spare threads\n", in_flight, spare_threads);
  if (tasks_waiting_for_a_seat != 0)
    out += fmt::format("{} tasks wait for workers that are in blocking calls\n", tasks_waiting_for_a_seat);
  if (blocking_calls_waiting != 0)
    out += fmt::format("{} blocking calls run, and {} wait (`blocking.max_concurrent`)\n",
                       blocking_calls_running, blocking_calls_waiting);
  if (machine_changes != 0)
    out += fmt::format("change {} of the machine: {}\n", machine_changes, last_machine_change);
  out += fmt::format("{:>6} {:>5} {:<9} {:>6} {:>6} {:>6} {:>6} {:>4}  {}\n", "worker", "group", "state",
                     "load", "ring", "inbox", "forks", "slot", "task");
  for (const seat_dump& s : seats) {
    out += fmt::format("{:>6} {:>5} {:<9} {:>6} {:>6} {:>6} {:>6} {:>4}", s.worker.value, s.group.value,
                       to_string(s.state), s.load.total(), s.ring_depth, s.inbox_depth, s.fork_depth,
                       s.load.slot);
    if (const auto us = microseconds(s.task_age))
      out += fmt::format("  {} for {} us{}", detail::task_text(s.task_kind, s.task_name, s.task_id), *us,
                         s.stuck ? ", stuck" : "");
    out += '\n';
  }
  for (const suspended_in& s : suspended)
    out += fmt::format("coroutines that wait for {}: {}\n", to_string(s.kind), s.coroutines);
  for (const socket_wait& w : socket_waits)
    out += fmt::format("{}, group {}\n", corewise::to_text(w), w.group.value);
  for (std::size_t g = 0; g < injection_depths.size(); ++g)
    if (injection_depths[g] != 0)
      out += fmt::format("injection queue of group {}: {} tasks\n", g, injection_depths[g]);
  for (std::size_t d = 0; d < class_queues.size(); ++d)
    if (const auto& [latency, background] = class_queues[d]; latency + background != 0)
      out += fmt::format("domain {}: {} latency and {} background tasks wait\n", d, latency, background);
  return out;
}

std::string engine_dump::to_json() const {
  std::string out = fmt::format(R"({{
  "in_flight": {},
  "spare_threads": {},
  "tasks_waiting_for_a_seat": {},
  "blocking_calls_running": {},
  "blocking_calls_waiting": {},
  "machine_changes": {},
  "last_machine_change": {},
  "suspended": {},
)",
                                in_flight, spare_threads, tasks_waiting_for_a_seat, blocking_calls_running,
                                blocking_calls_waiting, machine_changes,
                                detail::json_text(last_machine_change), json_of(suspended));
  out += fmt::format(R"(  "socket_waits": {},
  "injection_depths": [{}],
  "class_queues": {},
  "seats": {}
}}
)",
                     json_of(socket_waits), fmt::join(injection_depths, ", "), json_of(class_queues),
                     json_of(seats));
  return out;
}

namespace {

seat_dump dump_of(const detail::shared& engine, detail::worker& seat, const detail::stuck_workers& stuck) {
  const worker_place& place = seat.place();
  const group_board& board = engine.board(place.group);
  const std::size_t index = engine.index_in_group(seat.id());
  const detail::worker_queues& queues = seat.queues();
  seat_dump d;
  d.worker = seat.id();
  d.group = place.group;
  d.load = engine.view().load(place.group, index);
  d.ring_depth = queues.ring.size();
  d.inbox_depth = queues.in.size();
  d.fork_depth = static_cast<std::uint32_t>(queues.forks.size());
  if (seat.lender().lending())
    d.state = seat_state::blocking;
  else if (!engine.active(seat.id()) && d.load.running == 0)
    d.state = seat_state::retired;
  else if (engine.idle().asleep(seat.id()))
    d.state = seat_state::parked;
  else if (d.load.running != 0)
    d.state = seat_state::running;
  else if (board.spinning.test(index) || board.parked.test(index)) // in its last look
    d.state = seat_state::searching;
  if (d.state != seat_state::running && d.state != seat_state::blocking) return d;
  const std::uint64_t started = queues.started();
  detail::seen_task task = seat.report().task();
  d.task_kind = std::move(task.kind);
  if (queues.started() == started) d.task_name = std::move(task.name), d.task_id = task.id;
  d.task_age = seat.report().task_age();
  d.stuck = stuck.stands(seat.id());
  return d;
}

} // namespace

engine_dump runtime::dump() const {
  engine_dump all;
  if (after_process_fork()) return all; // as `metrics`
  for (detail::worker* seat : seats_) all.seats.push_back(dump_of(*this, *seat, supervisor_.stuck()));
  for (const auto& g : group_states_) all.injection_depths.push_back(g->injection().count());
  for (const auto& domain : classes_)
    all.class_queues.push_back(
        {domain->of(task_class::latency).depth(), domain->of(task_class::background).depth()});
  all.suspended = suspended_.count();
  for (const locality_group& g : groups_.groups())
    std::ranges::move(idle_->socket_waits(g.id, engine_dump::most_socket_waits),
                      std::back_inserter(all.socket_waits));
  all.in_flight = metrics().in_flight();
  all.spare_threads = threads_.spares();
  all.tasks_waiting_for_a_seat = detail::tasks_waiting_for_a_seat(*this);
  const detail::blocking_limit::counts calls = blocking_calls_.count();
  all.blocking_calls_running = calls.running;
  all.blocking_calls_waiting = calls.waiting;
  detail::change_book::entry changes = changes_.read();
  all.machine_changes = changes.changes;
  all.last_machine_change = std::move(changes.last);
  return all;
}

} // namespace corewise
