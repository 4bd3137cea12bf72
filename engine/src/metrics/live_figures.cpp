#include <corewise/engine/live_figures.hpp>
#include <corewise/topology/costs.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace corewise {

namespace {

using live_json = nlohmann::ordered_json;

/// Makes a list with a number of each worker.
template <class F> live_json column(const metrics_snapshot& m, F number) {
  live_json list = live_json::array();
  for (const worker_metrics& w : m.workers) list.push_back(number(w));
  return list;
}

/// Lists a number of each worker by level.
template <class F> live_json columns_by_level(const metrics_snapshot& m, F number) {
  live_json lists;
  for (std::size_t l = 0; l < level_count; ++l)
    lists[std::string(machine_costs::name_of(static_cast<level>(l)))] =
        column(m, [&](const worker_metrics& w) { return number(w, l); });
  return lists;
}

live_json workers_in(const metrics_snapshot& m) {
  return {
      {"active", column(m, [](const worker_metrics& w) { return w.active; })},
      {"load", column(m, [](const worker_metrics& w) { return w.load; })},
      {"busy_ns", column(m, [](const worker_metrics& w) { return w.busy.count(); })},
      {"executed", column(m, [](const worker_metrics& w) { return w.executed; })},
      {"spilled", column(m, [](const worker_metrics& w) { return w.spilled; })},
      {"parks", column(m, [](const worker_metrics& w) { return w.parks; })},
      {"standing", column(m, [](const worker_metrics& w) { return w.standing; })},
      {"stolen", columns_by_level(m, [](const worker_metrics& w, std::size_t l) { return w.stolen[l]; })},
      {"victims",
       columns_by_level(m, [](const worker_metrics& w, std::size_t l) { return w.victims[l].value; })},
  };
}

/// Lists how long tasks of all classes waited, by group.
live_json waiting_in(const metrics_snapshot& m) {
  std::vector<time_histogram> of_groups;
  for (const worker_metrics& w : m.workers) {
    of_groups.resize(std::max<std::size_t>(of_groups.size(), w.group.value + 1));
    for (const time_histogram& of_class : w.waited) of_groups[w.group.value] += of_class;
  }
  live_json list = live_json::array();
  for (const time_histogram& times : of_groups) list.push_back(times.counts);
  return list;
}

live_json bounds_of_waiting() {
  live_json list = live_json::array();
  for (std::size_t i = 0; i < time_histogram::bounds; ++i) list.push_back(time_histogram::bound(i).count());
  return list;
}

live_json json_of(const node_usage& n) {
  return {{"node", n.os_index},
          {"total_bytes", n.total_bytes},
          {"free_bytes", n.free_bytes},
          {"cache_bytes", n.cache_bytes}};
}

} // namespace

std::string live_figures::to_json() const {
  live_json nodes = live_json::array();
  for (const node_usage& n : memory) nodes.push_back(json_of(n));
  const live_json all = {
      {"time_ns", time.count()},
      {"health", to_string(metrics.health)},
      {"troubles", troubles},
      {"tasks",
       {{"submitted", metrics.submitted},
        {"finished", metrics.finished},
        {"in_flight", metrics.in_flight()},
        {"failed", metrics.failed},
        {"refused", metrics.rejected},
        {"injected", metrics.injected},
        {"latency_queued", metrics.latency_queued},
        {"background_queued", metrics.background_queued}}},
      {"spare_threads", metrics.spare_threads},
      {"machine", {{"changes", metrics.machine_changes}, {"last", metrics.last_machine_change}}},
      {"workers", workers_in(metrics)},
      {"waiting_bounds_ns", bounds_of_waiting()},
      {"waiting", waiting_in(metrics)},
      {"memory", std::move(nodes)},
  };
  return all.dump();
}

} // namespace corewise
