#include "base/json_text.hpp"

#include <corewise/engine/live_figures.hpp>
#include <corewise/topology/costs.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace corewise {

namespace {

template <class Range> std::string numbers(const Range& all) {
  return detail::json_list(all, [](auto n) { return std::to_string(n); });
}

/// Makes a list with a number of each worker.
template <class F> std::string column(const metrics_snapshot& m, F number) {
  return detail::json_list(m.workers, [&](const worker_metrics& w) { return std::to_string(number(w)); });
}

/// Lists a number of each worker by level.
template <class F> std::string columns_by_level(const metrics_snapshot& m, F number) {
  std::string lists;
  for (std::size_t l = 0; l < level_count; ++l)
    lists += fmt::format(R"({}"{}":{})", l == 0 ? "{" : ",", machine_costs::name_of(static_cast<level>(l)),
                         column(m, [&](const worker_metrics& w) { return number(w, l); }));
  return lists + '}';
}

std::string workers_in(const metrics_snapshot& m) {
  std::string out;
  const auto add = [&](std::string_view name, const std::string& list) {
    fmt::format_to(std::back_inserter(out), R"({}"{}":{})", out.empty() ? "{" : ",", name, list);
  };
  add("active", column(m, [](const worker_metrics& w) { return w.active; }));
  add("load", column(m, [](const worker_metrics& w) { return w.load; }));
  add("busy_ns", column(m, [](const worker_metrics& w) { return w.busy.count(); }));
  add("executed", column(m, [](const worker_metrics& w) { return w.executed; }));
  add("spilled", column(m, [](const worker_metrics& w) { return w.spilled; }));
  add("parks", column(m, [](const worker_metrics& w) { return w.parks; }));
  add("standing", column(m, [](const worker_metrics& w) { return w.standing; }));
  add("stolen", columns_by_level(m, [](const worker_metrics& w, std::size_t l) { return w.stolen[l]; }));
  add("victims",
      columns_by_level(m, [](const worker_metrics& w, std::size_t l) { return w.victims[l].value; }));
  return out + '}';
}

/// Lists how long tasks of all classes waited, by group.
std::string waiting_in(const metrics_snapshot& m) {
  std::vector<time_histogram> of_groups;
  for (const worker_metrics& w : m.workers) {
    of_groups.resize(std::max<std::size_t>(of_groups.size(), w.group.value + 1));
    for (const time_histogram& of_class : w.waited) of_groups[w.group.value] += of_class;
  }
  return detail::json_list(of_groups, [](const time_histogram& times) { return numbers(times.counts); });
}

std::string bounds_of_waiting() {
  std::vector<std::int64_t> bounds;
  for (std::size_t i = 0; i < time_histogram::bounds; ++i) bounds.push_back(time_histogram::bound(i).count());
  return numbers(bounds);
}

std::string json_of(const node_usage& n) {
  return fmt::format(R"({{"node":{},"total_bytes":{},"free_bytes":{},"cache_bytes":{}}})", n.os_index,
                     n.total_bytes, n.free_bytes, n.cache_bytes);
}

} // namespace

std::string live_figures::to_json() const {
  std::string out = fmt::format(R"({{"time_ns":{},"health":"{}","troubles":{},)", time.count(),
                                to_string(metrics.health), detail::json_list(troubles, detail::json_text));
  fmt::format_to(std::back_inserter(out),
                 R"("tasks":{{"submitted":{},"finished":{},"in_flight":{},"failed":{},"refused":{},)"
                 R"("injected":{},"latency_queued":{},"background_queued":{}}},)",
                 metrics.submitted, metrics.finished, metrics.in_flight(), metrics.failed, metrics.rejected,
                 metrics.injected, metrics.latency_queued, metrics.background_queued);
  fmt::format_to(std::back_inserter(out),
                 R"("spare_threads":{},"machine":{{"changes":{},"last":{}}},"workers":{},)",
                 metrics.spare_threads, metrics.machine_changes,
                 detail::json_text(metrics.last_machine_change), workers_in(metrics));
  fmt::format_to(std::back_inserter(out), R"("waiting_bounds_ns":{},"waiting":{},"memory":{}}})",
                 bounds_of_waiting(), waiting_in(metrics),
                 detail::json_list(memory, [](const node_usage& n) { return json_of(n); }));
  return out;
}

} // namespace corewise
