#include "runtime/runtime.hpp"
#include "worker/forks.hpp"

#include <corewise/engine/detail/fork_join.hpp>

#include <stdexcept>

namespace corewise::detail {

// --- what a task forks

void fork_task(coroutine_root& child) noexcept {
  worker* const seat = this_execution.seat;
  if (seat != nullptr && child.run_as == task_class::normal) return seat->fork(&child);
  child.engine->send_home(&child, child);
}

void place_child(coroutine_root& child, group_id to) noexcept { child.engine->fork_to(child, to); }

bool take_back(const task_header* t) noexcept {
  worker* const seat = this_execution.seat;
  return seat != nullptr && seat->take_back(t);
}

// --- how forked tasks run, and join

bool identify_coroutine() noexcept {
  this_execution.kind = "coroutine";
  return false;
}

void join_point::refuse() { throw std::logic_error("only a coroutine that an engine runs can fork"); }

std::coroutine_handle<> join_point::drop() noexcept {
  if (root_->act(root_, task_action::discard)) this_execution.root_ended = true;
  return std::noop_coroutine();
}

bool join_point::go_on_from_task() noexcept {
  if (discarded_.load(std::memory_order_relaxed)) return root_->act(root_, task_action::discard);
  return resume_frame(root_, parent_);
}

bool coroutine_root::perform(task_header* t, task_action action) {
  if (action == task_action::identify) return identify_coroutine();
  auto* const root = static_cast<strand*>(t);
  if (action == task_action::run) return resume_frame(root, root->frame);
  if (root->role() != strand_role::root) return join_point::discard(*root);
  root->frame.destroy();
  return true;
}

bool join_point::discard(strand& child) noexcept {
  join_point& at = *child.join;
  coroutine_root* const root = at.root_; // `at` may be gone when others arrive
  at.discarded_.store(true, std::memory_order_relaxed);
  bool last = false;
  switch (child.role()) {
  case strand_role::in_place: last = static_cast<fork_join&>(at).arrive_in_place(); break;
  case strand_role::away: last = static_cast<fork_join&>(at).arrive_away(); break;
  default: child.frame.destroy(); last = static_cast<scope_join&>(at).arrive();
  }
  return last && root->act(root, task_action::discard);
}

std::coroutine_handle<> scope_join::ended(strand& child) noexcept {
  if (child.error && !failed_.exchange(true, std::memory_order_relaxed)) {
    error_ = std::move(child.error);
    stop();
  }
  child.frame.destroy();
  return arrive() ? go_on() : std::noop_coroutine();
}

} // namespace corewise::detail
