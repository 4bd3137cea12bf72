#include "runtime/runtime.hpp"

#include <corewise/engine/detail/resumption.hpp>
#include <corewise/engine/detail/schedule.hpp>
#include <corewise/engine/task.hpp>

#include <stdexcept>

namespace corewise::detail {

void root_failed(runtime& engine) noexcept { engine.failed(); }

bool resumption::perform(task_header* t, task_action action) {
  if (action == task_action::identify) return identify_coroutine();
  auto* place = static_cast<resumption*>(t);
  coroutine_root* root = place->root;
  if (action == task_action::run) return resume_frame(root, place->frame);
  return root->act(root, task_action::discard); // and all that the root awaits, this frame among them
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

void rescheduling::await_suspend(std::coroutine_handle<> suspended) {
  if (this_execution.root == nullptr || this_execution.root->engine != &on_)
    throw std::logic_error("engine::schedule is for coroutines that the engine runs");
  place_.suspend(suspended);
  on_.place_again(place_, wish_);
}

} // namespace corewise::detail
