#include "runtime/runtime.hpp"

#include <corewise/engine/detail/resumption.hpp>
#include <corewise/engine/detail/schedule.hpp>
#include <corewise/engine/detail/suspension.hpp>
#include <corewise/engine/task.hpp>

#include <cstdint>
#include <stdexcept>
#include <utility>

namespace corewise::detail {

void root_failed(runtime& engine) noexcept { engine.failed(); }

namespace {

bool resume(const resumption& coroutine) noexcept {
  try {
    return resume_frame(coroutine.root, coroutine.frame);
  } catch (...) {
    return foreign_failed();
  }
}

/// Drops a queued coroutine. Returns whether its task has ended.
bool drop(resumption& coroutine, strand& innermost) noexcept {
  strand& root = static_cast<strand&>(*coroutine.root);
  if (coroutine.mark == resumption::is_suspension) static_cast<suspension&>(coroutine).free_entry();
  return join_point::discard(root, innermost);
}

} // namespace

bool foreign_failed() noexcept {
  this_execution.engine->failed();
  this_execution.root = nullptr;
  return std::exchange(this_execution.root_ended, false);
}

bool resumption::perform(task_header* t, task_action action) {
  if (action == task_action::identify) return identify_coroutine();
  auto& coroutine = *static_cast<resumption*>(t);
  if (action == task_action::run) return resume(coroutine);
  return drop(coroutine, strand_at(coroutine.frame));
}

bool resumption::perform_foreign(task_header* t, task_action action) {
  if (action == task_action::identify) return identify_coroutine();
  auto& coroutine = *static_cast<resumption*>(t);
  if (action == task_action::run) return resume(coroutine);
  return drop(coroutine, static_cast<strand&>(*coroutine.root));
}

namespace {

/// The coroutines that the calling thread resumes and no engine runs. Each may wake the next one: from a depth
/// on these wait here, where they take no stack, until the coroutine that woke them has suspended or ended.
struct outside_drives {
  static constexpr std::uint32_t deepest = 200;

  std::uint32_t depth = 0;
  task_header* first = nullptr;
  task_header* last = nullptr; // means nothing while there is no first
};

constinit thread_local outside_drives outside;

/// Resumes a coroutine that no engine runs. The waker may be within a task.
void drive_outside(resumption& r) {
  outside_drives& here = outside;
  if (here.depth == outside_drives::deepest) {
    r.next = nullptr;
    (here.first == nullptr ? here.first : here.last->next) = &r;
    here.last = &r;
    return;
  }
  ++here.depth;
  coroutine_root* const root = std::exchange(this_execution.root, nullptr);
  drive(r.frame);
  while (here.first != nullptr) {
    const auto* const next = static_cast<const resumption*>(std::exchange(here.first, here.first->next));
    drive(next->frame);
  }
  this_execution.root = root;
  --here.depth;
}

} // namespace

void resumption::wake() noexcept {
  if (root == nullptr)
    drive_outside(*this);
  else
    root->engine->wake(*this);
}

void resumption::wake_behind() noexcept {
  if (root == nullptr)
    drive_outside(*this);
  else
    root->engine->wake_behind(*this);
}

void rescheduling::move(std::coroutine_handle<> suspended, bool is_of_task) {
  if (this_execution.root == nullptr || this_execution.root->engine != &on_)
    throw std::logic_error("engine::schedule is for coroutines that the engine runs");
  resumption_.suspend(suspended, is_of_task);
  on_.place_again(resumption_, wish_);
}

} // namespace corewise::detail
