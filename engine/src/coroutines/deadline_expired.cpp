#include "base/clock.hpp"
#include "base/made_exception.hpp"
#include "runtime/runtime.hpp"

#include <corewise/engine/deadline_expired.hpp>

#include <memory>

namespace corewise::detail {

namespace {

/// Stands in the queues for a task with a deadline. When that task has begun nothing is left of this one:
/// when it goes on later, the task itself is queued.
struct task_with_deadline : task_header {
  unbegun_task task;
  unbegun_task otherwise;
  monotonic::time_point deadline;
  std::exception_ptr* error; // lives as long as the task

  static bool perform(task_header* t, task_action action) {
    if (action == task_action::identify) return this_execution.kind = "task with a deadline", false;
    auto* const self = static_cast<task_with_deadline*>(t);
    unbegun_task task = std::move(self->task);
    unbegun_task otherwise = std::move(self->otherwise);
    const bool late = action == task_action::run && monotonic::now() >= self->deadline;
    if (late && self->error != nullptr) *self->error = made_exception<deadline_expired>();
    task->phase = self->phase;
    task->run_as = self->run_as;
    recycled<task_with_deadline>::destroy(self);
    if (action == task_action::discard) return true;
    if (!late) return begin(std::move(task));
    expire(std::move(task));
    return otherwise == nullptr || begin(std::move(otherwise));
  }
  static bool begin(unbegun_task task) {
    task_header* const t = task.release();
    return t->act(t, task_action::run);
  }
  static void expire(unbegun_task task) noexcept {
    if (this_execution.seat != nullptr) this_execution.seat->counts().expired.add();
    task.reset();
  }
};

} // namespace

task_header* before_deadline(task_header* t, monotonic::time_point deadline, task_header* otherwise,
                             std::exception_ptr* error) {
  static_assert(sizeof(task_with_deadline) <= block_sizes[0]);
  unbegun_task task(t);
  unbegun_task instead(otherwise);
  auto* const guarded =
      recycled<task_with_deadline>::make(task_header{}, std::move(task), std::move(instead), deadline, error);
  guarded->act = &task_with_deadline::perform;
  return guarded;
}

unbegun_task without_deadline(unbegun_task guarded) noexcept {
  auto* const guard = static_cast<task_with_deadline*>(guarded.release());
  unbegun_task task = std::move(guard->task);
  recycled<task_with_deadline>::destroy(guard);
  return task;
}

} // namespace corewise::detail
