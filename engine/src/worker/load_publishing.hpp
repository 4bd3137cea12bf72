#pragma once

#include <cstdint>
#include <utility>

namespace corewise::detail {

/// Decides when a worker publishes its load (load_levels.hpp), which costs a few nanoseconds: with tasks of
/// `long_enough_ns` or more on average it does so at each task and push, else at each look at the clock and
/// at each sixteenth push. Call from the seat's thread.
class load_publishing {
 public:
  void set_task_time(std::uint64_t average_ns) noexcept { each_ = average_ns >= long_enough_ns; }

  /// Returns whether the tasks are short, so that publishing at each would take long beside them.
  bool tasks_are_short() const noexcept { return !each_; }
  /// Returns whether the worker publishes at a push, of which it has made so many.
  bool due_at_push(std::uint64_t pushed) const noexcept { return each_ || pushed % pushes_between == 0; }
  /// Returns whether the worker publishes at its next task.
  bool due_at_task() const noexcept { return next_; }
  /// Notes that the worker has published at a task.
  void note_published() noexcept { next_ = each_; }
  /// Has the worker publish at its next task.
  void begin_tick() noexcept { next_ = true; }

 private:
  static constexpr std::uint64_t long_enough_ns = 1000;
  static constexpr std::uint64_t pushes_between = 16;

  bool each_ = true;
  bool next_ = true;
};

} // namespace corewise::detail
