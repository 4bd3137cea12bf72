#include "runtime/runtime.hpp"
#include "worker/forks.hpp"

#include <corewise/engine/detail/fork_join.hpp>

#include <stdexcept>

namespace corewise::detail {

// --- what a task forks

void fork_task(coroutine_root& child) noexcept {
  worker* const seat = this_execution.seat;
  if (seat == nullptr || child.run_as != task_class::normal) return child.engine->send_home(&child, child);
  if (!seat->try_fork(&child)) [[unlikely]]
    seat->push(&child);
}

namespace {

/// Forks children where the caller's deque has no room for them yet, or they go elsewhere.
[[gnu::noinline]] void fork_row_slowly(strand& newest, std::uint32_t count) noexcept {
  worker* const seat = this_execution.seat;
  if (seat != nullptr && newest.run_as == task_class::normal && seat->queues().forks.reserve(count))
    return fork_row(newest, count);
  strand* child = &newest;
  for (; count != 0; --count) {
    strand* const before = child->sibling; // read first: the child may begin at once
    fork_task(*child);
    child = before;
  }
}

} // namespace

void fork_row(strand& newest, std::uint32_t count) noexcept {
  worker* const seat = this_execution.seat;
  if (seat != nullptr && newest.run_as == task_class::normal && seat->try_fork_row(newest, count)) [[likely]]
    return;
  fork_row_slowly(newest, count);
}

void place_child(coroutine_root& child, group_id to) noexcept { child.engine->fork_to(child, to); }

bool take_back(const task_header* t) noexcept {
  worker* const seat = this_execution.seat;
  return seat != nullptr && seat->take_back(t);
}

// --- how forked tasks run, and join

const char coroutine_kind[] = "coroutine";

bool identify_coroutine() noexcept {
  this_execution.kind = coroutine_kind;
  return false;
}

void join_point::refuse() { throw std::logic_error("only a coroutine that an engine runs can fork"); }

bool coroutine_root::perform(task_header* t, task_action action) {
  if (action == task_action::identify) return identify_coroutine();
  auto* const root = static_cast<strand*>(t);
  if (action == task_action::run) try {
      return resume_frame(root, root->frame());
    } catch (...) {
      return foreign_failed(); // it gave way to a coroutine of another type
    }
  if (root->role() != strand_role::root) return join_point::discard(*root, *root);
  root->frame().destroy();
  return true;
}

[[gnu::always_inline]] inline std::coroutine_handle<> fork_join::ended_in_place() noexcept {
  worker* const seat = this_execution.seat;
  if (left_ != 0 && seat != nullptr && seat->take_back(next_)) {
    strand& next = *std::exchange(next_, next_->sibling);
    --left_;
    next.play(strand_role::in_place);
    return begin(next);
  }
  return arrive_in_place() ? go_on() : std::noop_coroutine();
}

namespace {

[[gnu::noinline]] std::coroutine_handle<> end_other_strand(strand& s) noexcept {
  if (s.role() == strand_role::away) return static_cast<fork_join*>(s.join)->ended_away();
  if (s.role() != strand_role::root) return static_cast<scope_join*>(s.join)->ended(s);
  this_execution.root_ended = true;
  s.frame().destroy();
  return std::noop_coroutine();
}

} // namespace

std::coroutine_handle<> end_strand(strand& s) noexcept {
  if (s.role() == strand_role::in_place) return static_cast<fork_join*>(s.join)->ended_in_place();
  return end_other_strand(s); // apart, so that the other one saves no registers
}

// --- how dropped strands end

namespace {

void destroy_owned(strand& s) noexcept { std::exchange(s.owner->frame, nullptr).destroy(); }

/// Destroys the innermost coroutine and those that await it, up to a strand. Takes no stack, however many
/// they are.
void unwind(strand& innermost) noexcept {
  strand* s = &innermost;
  while (s->engine == nullptr && s->owner != nullptr) {
    strand& awaits = strand_at(s->continuation); // else `task::awaiter` would not have set the owner
    destroy_owned(*s);
    s = &awaits;
  }
}

} // namespace

strand& join_point::parent_strand() const noexcept { return static_cast<strand&>(*root_); }

strand& join_point::parent_to_unwind() const noexcept {
  return parent_is_foreign_ ? parent_strand() : strand_at(parent_);
}

bool join_point::discard(strand& s, strand& innermost) noexcept {
  strand* dropped = &s;
  strand* suspended = &innermost;
  while (dropped->role() != strand_role::root) {
    if (dropped->role() == strand_role::dropped) return false; // for another of its coroutines
    join_point& at = *dropped->join;
    strand& parent = at.parent_strand(); // `at` may be gone when others arrive
    strand& above = at.parent_to_unwind();
    at.note_discarded();
    if (!arrive_dropped(*dropped, *suspended)) return false;
    dropped = &parent;
    suspended = &above;
  }
  unwind(*suspended);
  return dropped->act(dropped, task_action::discard);
}

/// Counts a child that is dropped. Returns whether it is the last.
bool join_point::arrive_dropped(strand& child, strand& innermost) noexcept {
  if (child.role() != strand_role::in_scope)
    return static_cast<fork_join*>(child.join)->arrive_dropped(child, innermost);
  auto& at = static_cast<scope_join&>(*child.join);
  unwind(innermost);
  child.frame().destroy();
  return at.arrive();
}

bool fork_join::arrive_dropped(strand& child, strand& innermost) noexcept {
  const bool in_place = child.role() == strand_role::in_place;
  child.forget_bound();
  if (in_place) child.sibling = std::exchange(next_, &child);
  if (&innermost != &child) innermost.sibling = std::exchange(child.sibling, &innermost);
  child.play(strand_role::dropped);
  if (!(in_place ? arrive_in_place() : arrive_away())) return false;
  destroy_dropped();
  return true;
}

void fork_join::destroy_dropped() noexcept {
  for (strand* s = next_; s != nullptr;) {
    strand& child = *s;
    s = child.sibling;
    if (child.role() != strand_role::dropped) continue;   // it has ended
    if (s != nullptr && s->role() == strand_role::root) { // it awaits this one
      strand& innermost = *std::exchange(s, s->sibling);
      unwind(innermost);
    }
    destroy_owned(child);
  }
}

std::coroutine_handle<> fork_join::drop() noexcept {
  this_execution.root = nullptr; // the child that was the last to come may go now
  const uncounted_transfers none_counted;
  destroy_dropped();
  return drop_parent();
}

std::coroutine_handle<> join_point::drop_parent() noexcept {
  this_execution.root = nullptr; // its children go with it
  const uncounted_transfers none_counted;
  if (drop_parent_from_task()) this_execution.root_ended = true;
  return std::noop_coroutine();
}

bool join_point::drop_parent_from_task() noexcept {
  dropping& drops = parent_strand().engine->dropping(); // read first: all may be gone
  if (!discard_parent()) return false;
  drops.note_dropped();
  return true;
}

bool join_point::discard_parent() noexcept { return discard(parent_strand(), parent_to_unwind()); }

strand& join_point::top_of(coroutine_root& s) noexcept {
  auto* at = static_cast<strand*>(&s);
  while (at->role() != strand_role::root) at = static_cast<strand*>(at->join->root_);
  return *at;
}

std::coroutine_handle<> scope_join::ended(strand& child) noexcept {
  if (child.error && !failed_.exchange(true, std::memory_order_relaxed)) {
    error_ = std::move(child.error);
    stop();
  }
  child.frame().destroy();
  if (!arrive()) return std::noop_coroutine();
  return was_discarded() ? drop_parent() : resume_parent();
}

} // namespace corewise::detail
