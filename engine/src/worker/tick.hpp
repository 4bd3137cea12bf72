#pragma once

#include "base/task_clock.hpp"

#include <cstdint>

namespace corewise::detail {

/// Counts the tasks of a worker's tick and decides when the worker reads the clock: after as many tasks as
/// should take a tenth of a tick (16 at most), then after twice as many and so on. So short tasks do not pay
/// for the clock, and long ones end a tick in time. Call from the seat's thread.
class tick {
 public:
  /// `budget`: how many tasks a tick has at most.
  void begin(monotonic::time_point now, std::uint32_t budget) noexcept {
    began_ = now;
    stamp_ = static_cast<std::uint64_t>(now.time_since_epoch().count());
    next_look_ = first_look_of(clock_.average_ns(), budget);
    until_look_ = static_cast<std::int32_t>(next_look_);
  }

  /// Counts a task.
  void count_task() noexcept { --until_look_; }
  /// Returns whether the worker has to read the clock before it begins another task.
  bool look_is_due() const noexcept { return until_look_ <= 0; }
  /// Returns whether it has to do so after one more task.
  bool look_comes_next() const noexcept { return until_look_ <= 1; }
  /// Has the worker read the clock after its next task.
  void look_next() noexcept { look_at(tasks() + 1); }
  /// Plans the look after the one that is due.
  void plan_look(std::uint32_t budget) noexcept { look_at(look_after(tasks(), budget)); }

  /// Returns whether the tick ends at a look at that time.
  bool ends(monotonic::time_point now, std::uint32_t budget) const noexcept {
    return ends_tick(tasks(), budget, now - began_);
  }
  /// Takes the tick's tasks into the average.
  void end(monotonic::time_point now) noexcept { clock_.sample(now - began_, tasks()); }

  /// Returns the average time of the worker's tasks.
  std::uint64_t average_ns() const noexcept { return clock_.average_ns(); }
  /// Returns when the tick began, for the activity order (activity.hpp).
  std::uint64_t stamp() const noexcept { return stamp_; }

 private:
  std::uint32_t tasks() const noexcept { return next_look_ - static_cast<std::uint32_t>(until_look_); }
  void look_at(std::uint32_t tasks_then) noexcept {
    until_look_ = static_cast<std::int32_t>(tasks_then - tasks());
    next_look_ = tasks_then;
  }

  std::int32_t until_look_ = 1; // so many tasks more; less than 0 while tasks follow that do not ask
  std::uint32_t next_look_ = 1; // the number of tasks after which the worker reads the clock
  std::uint64_t stamp_ = 0;
  monotonic::time_point began_;
  task_clock clock_;
};

} // namespace corewise::detail
