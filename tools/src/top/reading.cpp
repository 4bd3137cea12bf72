#include "reading.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace corewise::command {

namespace {

constexpr std::array<const char*, steal_levels> level_names{"same_group", "same_domain", "same_node",
                                                            "same_package", "cross_package"};

const json& member(const json& of, const char* key) {
  const auto found = of.find(key);
  if (!of.is_object() || found == of.end()) throw reading_error(fmt::format("`{}` is missing", key));
  return *found;
}

std::uint64_t count_in(const json& value, const char* key) {
  if (!value.is_number_unsigned()) throw reading_error(fmt::format("`{}` is no count", key));
  return value.get<std::uint64_t>();
}
std::uint64_t count(const json& of, const char* key) { return count_in(member(of, key), key); }

double number_in(const json& value, const char* key) {
  const double number = value.is_number() ? value.get<double>() : -1;
  if (!std::isfinite(number) || number < 0) throw reading_error(fmt::format("`{}` is no number", key));
  return number;
}
double number(const json& of, const char* key) { return number_in(member(of, key), key); }

const json& list(const json& of, const char* key) {
  const json& value = member(of, key);
  if (!value.is_array()) throw reading_error(fmt::format("`{}` is no list", key));
  return value;
}

std::string text_or_nothing(const json& of, const char* key) {
  const json& value = member(of, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

std::map<std::string, time_counts> times(const json& of, const char* key, std::size_t bounds) {
  const json& classes = member(of, key);
  if (!classes.is_object()) throw reading_error(fmt::format("`{}` has no classes", key));
  std::map<std::string, time_counts> out;
  for (const auto& [name, histogram] : classes.items()) {
    time_counts& counts = out[name];
    for (const json& n : list(histogram, "counts")) counts.push_back(count_in(n, "counts"));
    if (counts.size() != bounds + 1)
      throw reading_error(fmt::format("`{}` has not a count for each bound", key));
  }
  return out;
}

group_reading group_of(const json& of, std::size_t bounds) {
  group_reading g;
  g.id = count(of, "group");
  g.kind = text_or_nothing(of, "kind");
  g.workers = count(of, "workers_active");
  g.capacity = count(of, "capacity");
  g.load = count(of, "load");
  g.standing = count(of, "workers_standing");
  g.busy_s = number(of, "busy_seconds");
  g.executed = count(of, "tasks_executed");
  const json& stolen = member(of, "tasks_stolen");
  for (std::size_t l = 0; l < steal_levels; ++l) g.stolen[l] = count(stolen, level_names[l]);
  g.waits = times(of, "task_wait_seconds", bounds);
  return g;
}

std::string health_in(const json& states) {
  if (states.is_object())
    for (const auto& [name, is_in] : states.items())
      if (is_in == 1) return name;
  throw reading_error("`health` has no state");
}

} // namespace

reading reading_of(const json& metrics) {
  reading r;
  r.health = health_in(member(metrics, "health"));
  r.finished = count(metrics, "tasks_finished");
  r.failed = count(metrics, "tasks_failed");
  r.refused = count(member(metrics, "tasks_refused"), "in_flight");
  r.in_flight = count(metrics, "tasks_in_flight");
  r.timers_pending = count(metrics, "timers_pending");
  const json& queued = member(metrics, "tasks_queued");
  r.queued_injection = count(queued, "injection");
  r.queued_latency = count(queued, "latency");
  r.queued_background = count(queued, "background");
  r.spares = count(metrics, "spare_threads");
  r.spares_exhausted = count(metrics, "spares_exhausted");
  r.waiting_for_a_seat = count(metrics, "tasks_waiting_for_a_seat");
  r.blocking_waiting = count(metrics, "blocking_calls_waiting");
  r.cpu_quota = number(metrics, "cpu_quota");
  r.throttled_s = number(metrics, "cpu_throttled_seconds");
  // Older daemons do not tell.
  r.machine_changes = metrics.contains("machine_changes") ? count(metrics, "machine_changes") : 0;
  if (metrics.contains("last_machine_change"))
    r.last_machine_change = text_or_nothing(metrics, "last_machine_change");
  for (const json& bound : list(metrics, "bounds_seconds"))
    r.bounds_s.push_back(number_in(bound, "bounds_seconds"));
  for (const json& g : list(metrics, "groups")) r.groups.push_back(group_of(g, r.bounds_s.size()));
  std::ranges::sort(r.groups, {}, &group_reading::id);
  return r;
}

std::vector<stuck_task> stuck_tasks_of(const json& dump) {
  std::vector<stuck_task> out;
  for (const json& seat : list(dump, "seats")) {
    if (member(seat, "stuck") != true) continue;
    stuck_task task{count(seat, "worker"), count(seat, "group"), text_or_nothing(seat, "task_name"), 0};
    if (task.name.empty()) task.name = text_or_nothing(seat, "task_kind");
    if (const json& age_us = member(seat, "task_age_us"); !age_us.is_null())
      task.age_s = number_in(age_us, "task_age_us") / 1e6;
    out.push_back(std::move(task));
  }
  std::ranges::stable_sort(out, std::ranges::greater(), &stuck_task::age_s);
  return out;
}

} // namespace corewise::command
