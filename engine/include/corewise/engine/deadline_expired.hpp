#pragma once

#include <corewise/engine/detail/task_header.hpp>
#include <corewise/engine/hint.hpp>

#include <exception>
#include <stdexcept>

namespace corewise {

/// The exception of a future whose work had not begun at the deadline of its hint, and of `with_deadline` for
/// a task that had not ended.
class deadline_expired : public std::runtime_error {
 public:
  deadline_expired() : deadline_expired("the task had not begun at its deadline") {}
  explicit deadline_expired(const char* what) : std::runtime_error(what) {}
};

namespace detail {

/// Makes a task that begins `t`. If its turn comes at `deadline` or later, it destroys `t` unrun, counts
/// that, and begins `otherwise` (null: nothing) instead. Before it destroys `t` so, it sets `error`, which
/// lives as long as `t`, to a `deadline_expired`, unless `error` is null. Throws `std::bad_alloc`, and then
/// both tasks are destroyed.
task_header* before_deadline(task_header* t, std::chrono::steady_clock::time_point deadline,
                             task_header* otherwise, std::exception_ptr* error);
/// Returns the task that `before_deadline` made such a task of. Both are unbegun.
unbegun_task without_deadline(unbegun_task guarded) noexcept;

} // namespace detail

} // namespace corewise
