#pragma once

#include "run_setup.hpp"
#include "simulated_clock.hpp"

#include <vector>

namespace corewise::detail {

/// The ticks of workers, as in the engine's worker: how long the tasks of a worker and of a group take.
class worker_ticks {
 public:
  worker_ticks(const run_setup& setup, const simulated_clock& clock)
      : setup_(setup),
        clock_(clock),
        workers_(setup.layout.size()),
        group_times_ns_(setup.groups.size(), spill_task_time_ns) {}

  void begin(worker_id w) noexcept;
  void count_task(worker_id w) noexcept { ++workers_[w.value].polls; }
  /// Looks at the clock if it is time to. Returns whether the tick is over.
  bool is_over(worker_id w) noexcept {
    const tick& t = workers_[w.value];
    return t.polls >= t.next_look && look_at_clock(w);
  }
  /// Returns how long a task of the worker takes on average, with those of the tick that ends now.
  std::uint64_t end(worker_id w) noexcept;
  /// Tells the group how long the worker's tasks take, where the group's time is far from it. Returns whether
  /// the group's time has grown.
  bool tell_group(worker_id w) noexcept;

  std::int64_t began_ns(worker_id w) const noexcept { return workers_[w.value].began_ns; }
  std::uint64_t average_ns(worker_id w) const noexcept { return workers_[w.value].average_ns; }
  /// The time of a task by which the worker places tasks.
  std::uint64_t task_time_ns(worker_id w) const noexcept { return workers_[w.value].task_time_ns; }
  std::uint64_t task_time_ns(group_id g) const noexcept { return group_times_ns_[g.value]; }

 private:
  struct tick {
    std::uint32_t polls = 0; ///< tasks that were begun in it
    std::uint32_t next_look = 1;
    std::int64_t began_ns = 0;
    std::uint64_t average_ns = first_task_time_ns;
    std::uint64_t task_time_ns = 0;
  };

  bool look_at_clock(worker_id w) noexcept;
  std::chrono::nanoseconds time_since(std::int64_t ns) const noexcept {
    return std::chrono::nanoseconds{clock_.now_ns() - ns};
  }

  const run_setup& setup_;
  const simulated_clock& clock_;
  std::vector<tick> workers_;
  std::vector<std::uint64_t> group_times_ns_;
};

} // namespace corewise::detail
