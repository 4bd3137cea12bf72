#pragma once

#include <corewise/engine/detail/resumption.hpp>
#include <corewise/policies/detail/atomic.hpp>
#include <corewise/topology/ids.hpp>

#include <cassert>
#include <cstdint>
#include <exception>

// How a coroutine forks children and goes on when all have ended.
//
// Invariant: the parent goes on, or is dropped, only after all its children have ended or were dropped, and
// exactly one of them does that.
//
// Each child is a *strand*: it has a root of its own, so that it may be queued, suspended, and dropped by
// itself. The forking worker pushes all children but the first into its deque, the last one first. It runs
// the first child itself, *in place*: on its own stack and without the loop. When that child ends, the next
// child is the newest task in the deque. The worker takes it back and runs it in place, and so on. Children
// that are not in the deque any more are *away*: thieves have them, or the loop had to come round, or the
// child in place was suspended and went on elsewhere.
//
//  in place  c0 ──► c1 ──► c2 ──► gone! ──► away += left ──┐
//  thief                          c3 ──► away −= 1 ────────┴──► the one that makes it 0 resumes the parent
//
// One child runs in place at a time, so the worker counts without atomic operations, and if it has run all
// children itself the join takes none. Children that are away count down from 0. So `away` comes to 0 by an
// operation only after the child in place has added the children that it did not run.
//
// A dropped child (the engine ends) counts like one that ends, and the last child drops the parent instead of
// resuming it. So nothing of a parent is destroyed before all its children are still.
//
// | tag    | release site                   | acquire site | publishes         | weakened              |
// |--------|--------------------------------|--------------|-------------------|-----------------------|
// | joined | arrive_in_place, arrive_away:  | the same     | results, the      | half a result is read |
// |        | away_, RMW                     |              | children's frames |                       |
// | scoped | scope_join::arrive: open_, RMW | the same     | the first error   | an error is lost      |

namespace corewise::detail {

class join_point;

/// The role of a coroutine among others that run at the same time.
enum class strand_role : std::uint8_t {
  root,     ///< no child, or awaited and no strand of its own
  in_place, ///< a child that its parent's worker runs, one after another
  away,     ///< a child that is queued, or was taken from a queue
  in_scope, ///< a child that ends by itself
};

/// A coroutine that may be a strand.
struct strand : coroutine_root {
  union {
    std::coroutine_handle<> continuation{}; ///< the coroutine that awaits it
    join_point* join;                       ///< of a child
  };
  strand* sibling = nullptr; ///< the next to run in place
  std::exception_ptr error;  ///< the exception that has left it

  strand_role role() const noexcept { return static_cast<strand_role>(mark); }
  void play(strand_role r) noexcept { mark = static_cast<std::uint8_t>(r); }
};

bool identify_coroutine() noexcept;

/// Pushes a child as the newest into the caller's deque. Call from any thread of its engine, in a task of it.
void fork_task(coroutine_root& child) noexcept;
/// Places a child as if it were submitted now, with a wish for a group. Call from any thread of its engine,
/// in a task of it.
void place_child(coroutine_root& child, group_id to) noexcept;
/// Takes the newest task of the caller's deque if it is `t` and no other tasks are due. Returns whether it
/// did. Call in a task.
bool take_back(const task_header* t) noexcept;

/// A join: a parent waits at it for its children.
class join_point {
 public:
  join_point(const join_point&) = delete;
  join_point& operator=(const join_point&) = delete;

  /// Ends a strand that is queued, or suspended, without running it any further. Returns whether the root of
  /// all ended with it.
  static bool discard(strand& child) noexcept;

 protected:
  join_point() noexcept = default;
  ~join_point() = default;

  /// Notes the calling coroutine as the parent that will wait. Throws `std::logic_error` outside of an
  /// engine's tasks.
  void suspend(std::coroutine_handle<> parent) {
    const execution& here = this_execution;
    root_ = here.root;
    if (root_ == nullptr) [[unlikely]]
      refuse();
    parent_ = parent;
    if (here.seat != nullptr) root_->last = here.seat; // the last child may end without one
  }
  /// Makes `child` a child of the parent.
  void adopt(strand& child, strand_role role) noexcept {
    enlist(child);
    child.act = &coroutine_root::perform;
    child.play(role);
    child.join = this;
  }
  /// Gives `child` what any child has of the parent: engine, phase, class.
  void enlist(coroutine_root& child) const noexcept {
    const execution& here = this_execution;
    child.engine = root_->engine;
    child.last = here.seat != nullptr ? here.seat : root_->last;
    child.phase = here.phase;
    child.run_as = root_->run_as;
  }
  static std::coroutine_handle<> begin(strand& child) noexcept {
    this_execution.root = &child;
    return transfer_to(child.frame);
  }
  /// Begins the first child in place; where the parent is `nested`, a worker's loop begins it instead.
  static std::coroutine_handle<> begin_first(strand& child, bool nested) noexcept {
    if (!nested) [[likely]]
      return begin(child);
    fork_task(child);
    return std::noop_coroutine();
  }
  /// Resumes the parent when all children have come, or drops it as a child was.
  std::coroutine_handle<> go_on() noexcept {
    if (discarded_.load(std::memory_order_relaxed)) [[unlikely]]
      return drop();
    this_execution.root = root_;
    return transfer_to(parent_);
  }
  /// Does the same where the last child was no coroutine. Returns whether the root of all ended.
  bool go_on_from_task() noexcept;
  /// Notes that the parent must be dropped as well, once all children have come.
  void note_discarded() noexcept { discarded_.store(true, std::memory_order_relaxed); }

 private:
  [[noreturn]] static void refuse();
  std::coroutine_handle<> drop() noexcept;

  std::coroutine_handle<> parent_;
  coroutine_root* root_ = nullptr; // the parent's
  atomic<bool> discarded_{false};  // relaxed: published with the last arrival
};

/// The join of `when_all`. Lives in the parent's frame; its children's frames outlive it.
class fork_join : public join_point {
 public:
  using join_point::suspend;

  /// Forks a child. If it runs in place, it runs after the children that will be forked later. Call from the
  /// suspended parent.
  void fork(strand& child) noexcept {
    adopt(child, strand_role::away);
    child.sibling = std::exchange(next_, &child);
    ++left_;
    fork_task(child);
  }
  /// Returns the child with which to begin, after all others have been forked.
  std::coroutine_handle<> start(strand& first, bool nested) noexcept {
    adopt(first, strand_role::in_place);
    return begin_first(first, nested);
  }

  /// Ends the child in place. Returns the coroutine that goes on.
  std::coroutine_handle<> ended_in_place() noexcept {
    if (left_ != 0 && take_back(next_)) {
      strand& next = *std::exchange(next_, next_->sibling);
      --left_;
      next.play(strand_role::in_place);
      return begin(next);
    }
    return arrive_in_place() ? go_on() : std::noop_coroutine();
  }
  std::coroutine_handle<> ended_away() noexcept { return arrive_away() ? go_on() : std::noop_coroutine(); }

  /// Count an arrival. Return whether the caller is the last.
  bool arrive_in_place() noexcept {
    const auto left = static_cast<std::int32_t>(std::exchange(left_, 0));
    return left == 0 || away_.fetch_add(left, std::memory_order_acq_rel) == -left; // pairs: joined
  }
  bool arrive_away() noexcept { return away_.fetch_sub(1, std::memory_order_acq_rel) == 1; } // pairs: joined

 private:
  strand* next_ = nullptr; // to run in place
  std::uint32_t left_ = 0; // children that did not run in place
  atomic<std::int32_t> away_{0};
};

/// The join of a scope. Children may be forked into it until all have ended.
class scope_join : public join_point {
 public:
  using join_point::suspend;

  /// Begins the first child of the scope, in place. Call from the suspended parent.
  std::coroutine_handle<> enter(strand& first, bool nested) noexcept {
    open_.store(1, std::memory_order_relaxed); // published by the queues that the others pass through
    adopt(first, strand_role::in_scope);
    return begin_first(first, nested);
  }
  /// Forks a child of the scope. Call from a strand of the scope.
  void fork(strand& child) noexcept {
    assert(open_.load(std::memory_order_relaxed) != 0 && "a task is forked into a scope that has ended");
    open_.fetch_add(1, std::memory_order_relaxed); // the caller counts, so it does not end meanwhile
    adopt(child, strand_role::in_scope);
    fork_task(child);
  }
  std::coroutine_handle<> ended(strand& child) noexcept;
  /// Counts an arrival. Returns whether the caller is the last.
  bool arrive() noexcept { return open_.fetch_sub(1, std::memory_order_acq_rel) == 1; } // pairs: scoped

  /// The first exception.
  std::exception_ptr error() const noexcept { return error_; }

 protected:
  ~scope_join() = default;

 private:
  virtual void stop() noexcept = 0;

  atomic<std::uint32_t> open_{0};
  atomic<bool> failed_{false}; // relaxed: its setter writes the error, which `arrive` publishes
  std::exception_ptr error_;
};

/// Ends a strand that is a child. Returns the coroutine that goes on.
inline std::coroutine_handle<> end_strand(strand& child) noexcept {
  switch (child.role()) {
  case strand_role::in_place: return static_cast<fork_join*>(child.join)->ended_in_place();
  case strand_role::away: return static_cast<fork_join*>(child.join)->ended_away();
  default: return static_cast<scope_join*>(child.join)->ended(child);
  }
}

/// The operations that awaiters may do on a task.
class fork_access {
 public:
  template <class Task> static strand& strand_of(const Task& t) noexcept {
    assert(t.frame_ && "the forked task was moved from or submitted before");
    auto& promise = t.frame_.promise();
    assert(!promise.continuation && "the forked task was awaited before");
    promise.frame = t.frame_;
    return promise;
  }
  template <class Task> static decltype(auto) take(const Task& t) { return t.frame_.promise().take(); }
  /// Gives up the frame, which ends by itself.
  template <class Task> static strand& release(Task&& t) noexcept {
    strand& s = strand_of(t);
    t.frame_ = nullptr;
    return s;
  }
};

} // namespace corewise::detail
