#include "runtime.hpp"

#include <corewise/engine/resumption.hpp>
#include <corewise/engine/task.hpp>

namespace corewise::detail {

void root_failed(runtime& engine) noexcept { engine.failed(); }

bool resumption::perform(task_header* t, task_action action) {
  if (action == task_action::identify) return this_execution.kind = "coroutine", false;
  auto* place = static_cast<resumption*>(t);
  coroutine_root* root = place->root;
  if (action == task_action::run) return resume_frame(root, place->frame);
  return root->act(root, task_action::discard); // and all that the root awaits, this frame among them
}

void resumption::give_way() noexcept {
  worker* seat = this_execution.seat;
  if (seat != nullptr && seat->takes_back(*this)) return seat->give_way(this);
  root->engine->send_on(*this);
}

void resumption::wake() noexcept {
  if (root == nullptr)
    frame.resume();
  else
    root->engine->wake(*this);
}

} // namespace corewise::detail
