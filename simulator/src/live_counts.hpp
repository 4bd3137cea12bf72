#pragma once

#include <corewise/engine/live_figures.hpp>
#include <corewise/simulator/simulation.hpp>

#include <vector>

namespace corewise::detail {

/// Counts of what each simulated worker has done since the run began, as in the engine's metrics. Counts nothing
/// unless it is on.
class live_counts {
 public:
  live_counts(const worker_layout& layout, bool on);

  void ran(worker_id w) noexcept {
    if (on()) ++of(w).executed;
  }
  void parked(worker_id w) noexcept {
    if (on()) ++of(w).parks;
  }
  void busy(worker_id w, std::int64_t from_ns, std::int64_t to_ns) noexcept {
    if (on()) of(w).busy += std::chrono::nanoseconds{to_ns - from_ns};
  }
  void stolen(worker_id thief, group_id victim, level l, std::uint32_t tasks) noexcept;
  void spilled(worker_id from) noexcept {
    if (on()) ++of(from).spilled;
  }
  void waited(worker_id w, task_class c, std::int64_t time_ns) noexcept;

  std::vector<worker_metrics> workers() const { return workers_; }

 private:
  bool on() const noexcept { return !workers_.empty(); }
  worker_metrics& of(worker_id w) noexcept { return workers_[w.value]; }

  std::vector<worker_metrics> workers_;
};

} // namespace corewise::detail
