#include "runtime/runtime.hpp"
#include "worker/lent_seats.hpp"
#include "worker/task_label.hpp"

#include <corewise/engine/detail/task_header.hpp>
#include <corewise/engine/dump.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>

namespace corewise {

namespace {

std::optional<std::int64_t> microseconds(const std::optional<std::chrono::nanoseconds>& t) {
  if (!t) return std::nullopt;
  return std::chrono::duration_cast<std::chrono::microseconds>(*t).count();
}

nlohmann::ordered_json json_of(const seat_dump& s) {
  nlohmann::ordered_json out{
      {"worker", s.worker.value}, {"group", s.group.value},   {"state", to_string(s.state)},
      {"load", s.load.total()},   {"ring", s.ring_depth},     {"inbox", s.inbox_depth},
      {"forks", s.fork_depth},    {"lifo_slot", s.load.slot}, {"task_kind", nullptr},
      {"task_name", nullptr},     {"task_id", nullptr},       {"task_age_us", nullptr},
      {"stuck", s.stuck}};
  if (!s.task_kind.empty()) out["task_kind"] = s.task_kind;
  if (!s.task_name.empty()) out["task_name"] = s.task_name;
  if (s.task_id) out["task_id"] = to_string(s.task_id);
  if (const auto us = microseconds(s.task_age)) out["task_age_us"] = *us;
  return out;
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
  nlohmann::ordered_json out{{"in_flight", in_flight},
                             {"spare_threads", spare_threads},
                             {"tasks_waiting_for_a_seat", tasks_waiting_for_a_seat},
                             {"blocking_calls_running", blocking_calls_running},
                             {"blocking_calls_waiting", blocking_calls_waiting},
                             {"machine_changes", machine_changes},
                             {"last_machine_change", last_machine_change},
                             {"suspended", nlohmann::ordered_json::object()},
                             {"socket_waits", nlohmann::ordered_json::array()},
                             {"injection_depths", injection_depths},
                             {"class_queues", nlohmann::ordered_json::array()},
                             {"seats", nlohmann::ordered_json::array()}};
  for (const suspended_in& s : suspended) out["suspended"][to_string(s.kind)] = s.coroutines;
  for (const socket_wait& w : socket_waits)
    out["socket_waits"].push_back({{"group", w.group.value},
                                   {"kind", to_string(w.kind)},
                                   {"descriptor", w.descriptor},
                                   {"peer", w.peer},
                                   {"time_us", *microseconds(w.time)}});
  for (const auto& [latency, background] : class_queues)
    out["class_queues"].push_back({{"latency", latency}, {"background", background}});
  for (const seat_dump& s : seats) out["seats"].push_back(json_of(s));
  return out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
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
