#pragma once

#include "rules/rules.hpp"

#include <limits>
#include <optional>

namespace corewise::detail {

/// The answers of the placing policy about the tasks that a worker submits and resumes. The worker asks
/// when its rules or the time of its tasks change, and not for each task. Call from the seat's thread.
class policy_answers {
 public:
  /// Forgets what other rules have answered.
  void follow(const policy& placing) noexcept {
    resumptions_return_ = placing.returns();
    group_time_ns_.reset();
  }
  /// Asks for tasks that take `task_ns`. `group_ns`: the average of the group, by which the worker sees
  /// whether to ask again.
  void ask(const policy& placing, load_view view, const task_origin& here, std::uint64_t task_ns,
           std::uint64_t group_ns) noexcept {
    task_time_ns_ = view.task_time_ns = task_ns;
    group_time_ns_ = group_ns;
    most_load_kept_ = placing.max_load_kept_unasked(view, here);
  }
  /// Returns whether the answers hold while the group's tasks take that long.
  bool hold_for(std::uint64_t group_ns) const noexcept { return group_time_ns_ == group_ns; }

  /// Returns how long a task that the worker submits is expected to take.
  std::uint64_t task_time_ns() const noexcept { return task_time_ns_; }
  /// Returns whether a coroutine goes on where it was suspended.
  bool resumptions_return() const noexcept { return resumptions_return_; }
  /// Returns whether a task that the worker submits stays with it, while `load()` tasks wait and run there.
  template <class F> bool keep(const F& load) const noexcept {
    return most_load_kept_ && (*most_load_kept_ == any_load || load() <= *most_load_kept_);
  }

 private:
  /// The answer for short tasks: the load need not be added up.
  static constexpr std::uint32_t any_load = std::numeric_limits<std::uint32_t>::max();

  std::optional<std::uint32_t> most_load_kept_;
  std::uint64_t task_time_ns_ = 0;
  std::optional<std::uint64_t> group_time_ns_; // when the worker asked; nothing: before these rules
  bool resumptions_return_ = true;
};

} // namespace corewise::detail
