#pragma once

#include "tasks.hpp"

#include <corewise/simulator/simulation.hpp>

namespace corewise::detail {

__extension__ using wide = unsigned __int128; // ISO C++ has none

/// The findings of a run so far. At the end of the warm-up it forgets what it has counted.
class measuring {
 public:
  measuring(const simulated_machine& machine, std::uint64_t tasks, double warm_up);

  /// Counts one task more in the system. The end of the run checks Little's law on these counts.
  void enters(std::int64_t now_ns) noexcept { advance(now_ns), ++in_system_; }
  /// Counts a task of that service that has ended, and is no longer in the system; `responded`: its response
  /// time is measured.
  void leaves(std::int64_t now_ns, std::int64_t entered_ns, double service_ns, bool responded) noexcept;
  void ran(level l, std::uint32_t kind) noexcept {
    ++result_.ran_at[static_cast<std::size_t>(l)], ++result_.kinds[kind].tasks;
  }
  void stolen(level l, std::uint32_t tasks) noexcept {
    result_.stolen_at[static_cast<std::size_t>(l)] += tasks;
  }
  void placed() noexcept { ++result_.placed; }
  void woken() noexcept { ++result_.wake_ups; }
  void parked() noexcept { ++result_.parks; }
  /// Counts the time until now that a worker of that kind was busy, or asleep, or neither.
  void spent(std::uint32_t kind, std::int64_t from_ns, std::int64_t to_ns, bool busy, bool asleep) noexcept;
  /// Counts a time in which a worker had no task although one waited.
  void idled_beside_work(std::int64_t from_ns, std::int64_t to_ns) noexcept {
    result_.idle_beside_work_ns += to_ns - from_ns;
  }
  void sample(std::int64_t now_ns, std::vector<float> load) {
    result_.samples.push_back({now_ns, std::move(load)});
  }

  std::uint64_t ended_tasks() const noexcept { return ended_; }
  /// Finishes the run. `still_ns`: how long the tasks that are still in the system have been there, added up.
  /// Throws std::logic_error if Little's law does not hold: tasks were lost or counted twice.
  simulation_result finish(std::int64_t now_ns, const machine_costs& costs, std::uint64_t events,
                           wide still_ns);

 private:
  void advance(std::int64_t now_ns) noexcept {
    integral_ += static_cast<wide>(in_system_) * static_cast<wide>(now_ns - integrated_to_);
    integrated_to_ = now_ns;
  }
  void begin(std::int64_t now_ns) noexcept;

  std::uint64_t warm_after_;
  std::uint64_t half_after_;
  std::uint64_t ended_ = 0;
  std::int64_t began_ns_ = 0;
  std::uint64_t in_system_ = 0;
  std::int64_t integrated_to_ = 0;
  wide integral_ = 0;        // of the tasks in the system over time, in all
  wide integral_before_ = 0; // until the warm-up was over
  wide times_ = 0;           // of the tasks that left
  struct spent_time {
    double busy = 0;
    double asleep = 0;
    double other = 0;
  };
  std::vector<spent_time> spent_; // by kind
  simulation_result result_;
};

} // namespace corewise::detail
