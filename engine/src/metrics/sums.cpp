#include "metrics/metric_table.hpp"

#include <corewise/engine/metrics.hpp>

#include <algorithm>
#include <functional>

namespace corewise {

std::chrono::nanoseconds time_histogram::quantile(double q) const noexcept {
  const std::uint64_t all = count();
  std::uint64_t passed = 0;
  for (std::size_t i = 0; i < bounds; ++i) {
    passed += counts[i];
    if (all != 0 && static_cast<double>(passed) >= q * static_cast<double>(all)) return bound(i);
  }
  return std::chrono::nanoseconds::max();
}

time_histogram& time_histogram::operator+=(const time_histogram& other) noexcept {
  std::transform(counts.begin(), counts.end(), other.counts.begin(), counts.begin(), std::plus<>());
  sum += other.sum;
  return *this;
}

worker_metrics& worker_metrics::operator+=(const worker_metrics& w) noexcept {
  active += w.active;
  capacity += w.capacity;
  placed += w.placed;
  executed += w.executed;
  stuck_for += w.stuck_for;
  latency_runs_on_slow_cores += w.latency_runs_on_slow_cores;
  expired += w.expired;
  lifo_runs += w.lifo_runs;
  latency_runs += w.latency_runs;
  background_runs += w.background_runs;
  forked += w.forked;
  in_place += w.in_place;
  leapfrogged += w.leapfrogged;
  ticks += w.ticks;
  load += w.load;
  running += w.running;
  for (std::size_t l = 0; l < level_count; ++l) stolen[l] += w.stolen[l];
  injected += w.injected;
  overflowed += w.overflowed;
  spilled += w.spilled;
  lifo_rescued += w.lifo_rescued;
  parks += w.parks;
  wakes += w.wakes;
  wakes_in_vain += w.wakes_in_vain;
  timeouts += w.timeouts;
  rescued_by_timeout += w.rescued_by_timeout;
  blocking_calls += w.blocking_calls;
  regained_seats += w.regained_seats;
  taken_seats += w.taken_seats;
  standing += w.standing;
  stuck += w.stuck;
  busy += w.busy;
  waited_for_cpu += w.waited_for_cpu;
  for (std::size_t c = 0; c < class_count; ++c) waited[c] += w.waited[c], ran[c] += w.ran[c];
  timers_late += w.timers_late;
  return *this;
}

io_metrics& io_metrics::operator+=(const io_metrics& other) noexcept {
  driver += other.driver;
  ready_waited += other.ready_waited;
  return *this;
}

worker_metrics metrics_snapshot::total() const {
  worker_metrics all;
  for (const worker_metrics& w : workers) all += w;
  return all;
}

io_metrics metrics_snapshot::io_total() const {
  io_metrics all;
  for (const io_metrics& g : io) all += g;
  return all;
}

} // namespace corewise

namespace corewise::detail {

std::vector<worker_metrics> by_group(const std::vector<worker_metrics>& workers) {
  std::vector<worker_metrics> groups;
  for (const worker_metrics& w : workers) {
    auto of = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.group == w.group; });
    if (of == groups.end()) {
      of = groups.emplace(groups.end());
      of->group = w.group;
    }
    *of += w;
  }
  return groups;
}

} // namespace corewise::detail
