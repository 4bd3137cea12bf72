#pragma once

#include <corewise/engine/detail/task_header.hpp>
#include <corewise/engine/hint.hpp>

#include <exception>
#include <stdexcept>

namespace corewise {

/// What a future throws whose work had not begun at the deadline of its hint, and `with_deadline` for a task that had not ended.
class deadline_expired : public std::runtime_error {
 public:
  deadline_expired() : deadline_expired("the task had not begun at its deadline") {}
  explicit deadline_expired(const char* what) : std::runtime_error(what) {}
};

namespace detail {

/// A task that begins `t`, or, if its turn comes at `deadline` or later, destroys it unrun, counts that, and begins
/// `otherwise` (null: nothing). Before t is destroyed so `error`, which lives as long as t, becomes a `deadline_expired`; null:
/// nobody's. Throws `std::bad_alloc`, and then both are destroyed.
task_header* before_deadline(task_header* t, std::chrono::steady_clock::time_point deadline,
                             task_header* otherwise, std::exception_ptr* error);

} // namespace detail

} // namespace corewise
