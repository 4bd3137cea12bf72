#include "runtime/runtime.hpp"

#include <corewise/engine/detail/resumption.hpp>
#include <corewise/engine/detail/schedule.hpp>
#include <corewise/engine/task.hpp>

#include <stdexcept>

namespace corewise::detail {

void root_failed(runtime& engine) noexcept { engine.failed(); }

bool resumption::perform(task_header* t, task_action action) {
  if (action == task_action::identify) return identify_coroutine();
  const auto* place = static_cast<resumption*>(t);
  if (action == task_action::run) return resume_frame(place->root, place->frame);
  return join_point::discard(static_cast<strand&>(*place->root), strand_at(place->frame));
}

bool resumption::perform_foreign(task_header* t, task_action action) {
  if (action == task_action::identify) return identify_coroutine();
  const auto* place = static_cast<resumption*>(t);
  if (action == task_action::run) return resume_frame(place->root, place->frame);
  auto& root = static_cast<strand&>(*place->root);
  return join_point::discard(root, root);
}

namespace {

/// Resumes a coroutine that no engine runs. The waker may be within a task.
void drive_outside(std::coroutine_handle<> frame) {
  coroutine_root* const root = std::exchange(this_execution.root, nullptr);
  drive(frame);
  this_execution.root = root;
}

} // namespace

void resumption::wake() noexcept {
  if (root == nullptr)
    drive_outside(frame);
  else
    root->engine->wake(*this);
}

void resumption::wake_behind() noexcept {
  if (root == nullptr)
    drive_outside(frame);
  else
    root->engine->wake_behind(*this);
}

void rescheduling::move(std::coroutine_handle<> suspended, bool is_of_task) {
  if (this_execution.root == nullptr || this_execution.root->engine != &on_)
    throw std::logic_error("engine::schedule is for coroutines that the engine runs");
  place_.suspend(suspended, is_of_task);
  on_.place_again(place_, wish_);
}

} // namespace corewise::detail
