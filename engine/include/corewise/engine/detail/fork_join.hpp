#pragma once

#include <corewise/engine/detail/resumption.hpp>
#include <corewise/policies/detail/atomic.hpp>
#include <corewise/topology/ids.hpp>

#include <bit>
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
// The same holds for a child of `when_all` that was dropped, and the coroutines that it awaits: the last
// child unwinds them all (resumption.hpp). It finds the children from `next_`: the forked ones are linked by
// `sibling` from there on, and the child in place puts itself before them when it is dropped. Behind itself a
// dropped child puts the innermost coroutine that it awaits. A child of a scope ends by itself, so its frames
// go at once.
//
// | tag    | release site                   | acquire site | publishes         | weakened              |
// |--------|--------------------------------|--------------|-------------------|-----------------------|
// | joined | arrive_in_place, arrive_away:  | the same     | results, the      | half a result is read |
// |        | away_, RMW                     |              | children's frames |                       |
// | scoped | scope_join::arrive: open_, RMW | the same     | the first error   | an error is lost      |

namespace corewise::detail {

class chain_walk;
class join_point;
class future_state;

/// The role of a coroutine among others that run at the same time.
enum class strand_role : std::uint8_t {
  root,     ///< no child, or awaited and no strand of its own
  in_place, ///< a child that its parent's worker runs, one after another
  away,     ///< a child that is queued, or was taken from a queue
  in_scope, ///< a child that ends by itself
  dropped,  ///< a child of `when_all` that does not go on
};

/// A coroutine that may be a strand.
struct strand : coroutine_root {
  union {
    std::coroutine_handle<> continuation{}; ///< the coroutine that awaits it
    join_point* join;                       ///< of a child
  };
  /// The next to run in place, or to be destroyed. From its beginning on, with the lowest bit set: the value
  /// that it has bound last.
  strand* sibling = nullptr;
  std::exception_ptr error; ///< the exception that has left it

  /// Notes the future that this root will settle; the engine's end asks. The continuation's place is free in
  /// a root.
  void note_future(future_state& f) noexcept { continuation = std::coroutine_handle<>::from_address(&f); }
  future_state* future() const noexcept { return static_cast<future_state*>(continuation.address()); }

  /// Returns the value that it has bound last, or null. Call after its beginning.
  const bound_value* bound() const noexcept { return bound_in(sibling); }
  static const bound_value* bound_in(const strand* word) noexcept {
    const auto bits = std::bit_cast<std::uintptr_t>(word);
    return (bits & 1) != 0 ? std::bit_cast<const bound_value*>(bits - 1) : nullptr;
  }
  /// Notes the value bound last. Returns what stood in its place. Call from its thread, or before it begins.
  strand* bind(const bound_value& v) noexcept {
    const auto bits = reinterpret_cast<std::uintptr_t>(&v) | 1; // by bit_cast clang-tidy 19 would crash
    return std::exchange(sibling, std::bit_cast<strand*>(bits));
  }

  /// Makes `sibling` what it was at the beginning. Call when nothing of the strand will run again.
  void forget_bound() noexcept {
    while (const bound_value* const v = bound()) sibling = static_cast<const binding*>(v)->before();
  }

  strand_role role() const noexcept { return static_cast<strand_role>(mark); }
  void play(strand_role r) noexcept { mark = static_cast<std::uint8_t>(r); }
};

/// The answer of a coroutine to `task_action::identify`.
extern const char coroutine_kind[];
/// Returns the strand of a frame that is a task's (`of_task`).
inline strand& strand_at(std::coroutine_handle<> frame) noexcept {
  return std::coroutine_handle<strand>::from_address(frame.address()).promise();
}

bool identify_coroutine() noexcept;

/// Pushes a child as the newest into the caller's deque. Call from any thread of its engine, in a task of it.
void fork_task(coroutine_root& child) noexcept;
/// Does the same for `count` children, which are linked by `sibling` from the newest on. Cost in a task
/// without a class: that of one.
[[gnu::hot]] void fork_row(strand& newest, std::uint32_t count) noexcept;
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

  /// Ends a strand that is queued, or suspended, without running it any further. `innermost` is the suspended
  /// one of its coroutines, or the strand itself if that is not a task's. If the strand was the last child of
  /// a join, ends the parent as well, and so on. Returns whether the root of all ended with it.
  static bool discard(strand& s, strand& innermost) noexcept;
  /// Returns the root of all, to whose coroutines `s` belongs.
  static strand& top_of(coroutine_root& s) noexcept;

 protected:
  join_point() noexcept = default;
  ~join_point() = default;

  /// The properties that each child has from its parent.
  struct heritage {
    runtime* engine;
    worker* last; ///< the caller's seat; if it has none, the parent's last one
    std::uint8_t phase;
    task_class run_as;
  };
  /// Notes the calling coroutine as the parent that will wait. Returns what its children have of it. Throws
  /// `std::logic_error` outside of an engine's tasks.
  template <class Promise> heritage suspend(std::coroutine_handle<Promise> parent) {
    root_ = this_execution.root;
    if (root_ == nullptr) [[unlikely]]
      refuse();
    parent_ = parent;
    if constexpr (!of_task<Promise>()) parent_is_foreign_ = true;
    const heritage to_children = given_here();
    root_->last = to_children.last; // the last child may end without one
    return to_children;
  }
  /// Returns what children that the caller forks have of the parent.
  heritage given_here() const noexcept {
    const execution& here = this_execution;
    return {root_->engine, here.seat != nullptr ? here.seat : root_->last, here.phase, root_->run_as};
  }
  /// Makes `child` a child of the parent.
  void adopt(strand& child, strand_role role, const heritage& given) noexcept {
    enlist(child, given);
    child.act = &coroutine_root::perform;
    child.play(role);
    child.join = this;
  }
  static void enlist(coroutine_root& child, const heritage& given) noexcept {
    child.engine = given.engine;
    child.last = given.last;
    child.phase = given.phase;
    child.run_as = given.run_as;
  }
  static std::coroutine_handle<> begin(strand& child) noexcept {
    this_execution.root = &child;
    return transfer_to(child.frame());
  }
  /// Begins the first child in place; where the parent is `nested`, a worker's loop begins it instead.
  static std::coroutine_handle<> begin_first(strand& child, bool nested) noexcept {
    if (!nested) [[likely]]
      return begin(child);
    fork_task(child);
    return std::noop_coroutine();
  }
  /// Resumes the parent when all children have come and none was dropped.
  std::coroutine_handle<> resume_parent() noexcept {
    this_execution.root = root_;
    return transfer_to(parent_);
  }
  /// Does the same where the last child was no coroutine. Returns whether the root of all ended.
  bool resume_parent_from_task() noexcept {
    try {
      return resume_frame(root_, parent_);
    } catch (...) {
      return foreign_failed();
    }
  }
  /// Drops the parent when all children have come, one was dropped, and the last of them has run to its end. Counts the
  /// task, if all of it is dropped now. Returns what goes on in its place.
  std::coroutine_handle<> drop_parent() noexcept;
  /// Does the same where the last child was no coroutine. Returns whether the root of all ended.
  bool drop_parent_from_task() noexcept;
  /// Does the same where the last child was dropped as well, by a thread that counts. Returns whether the root of all ended.
  bool discard_parent() noexcept;
  /// Notes that the parent must be dropped as well, once all children have come.
  void note_discarded() noexcept { discarded_.store(true, std::memory_order_relaxed); }
  bool was_discarded() const noexcept { return discarded_.load(std::memory_order_relaxed); }

 private:
  friend chain_walk;
  friend struct debugger_layouts;

  [[noreturn]] static void refuse();
  static bool arrive_dropped(strand& child, strand& innermost) noexcept;
  strand& parent_strand() const noexcept;
  /// Returns the parent, with which unwinding begins; its strand if the parent is no task.
  strand& parent_to_unwind() const noexcept;

  std::coroutine_handle<> parent_;
  coroutine_root* root_ = nullptr; // the parent's
  atomic<bool> discarded_{false};  // relaxed: published with the last arrival
  bool parent_is_foreign_ = false; // no task (`of_task`)
};

/// The join of `when_all`. Lives in the parent's frame; its children's frames outlive it, unless they were
/// dropped.
class fork_join : public join_point {
 public:
  using join_point::heritage;
  using join_point::suspend;

  /// Adds a child. If it runs in place, it runs after the children that will be added later. Call from the
  /// suspended parent.
  void add(strand& child, const heritage& given) noexcept {
    adopt(child, strand_role::away, given);
    child.sibling = std::exchange(next_, &child);
    ++left_;
  }
  /// Forks the children that were added. Returns the child with which to begin.
  std::coroutine_handle<> start(strand& first, const heritage& given, bool nested) noexcept {
    adopt(first, strand_role::in_place, given);
    if (left_ != 0) fork_row(*next_, left_);
    return begin_first(first, nested);
  }

  /// Ends the child in place. Returns the coroutine that goes on. For `end_strand` (fork_join.cpp).
  inline std::coroutine_handle<> ended_in_place() noexcept;
  std::coroutine_handle<> ended_away() noexcept { return arrive_away() ? go_on() : std::noop_coroutine(); }

  /// Count an arrival. Return whether the caller is the last.
  bool arrive_in_place() noexcept {
    const auto left = static_cast<std::int32_t>(std::exchange(left_, 0));
    return left == 0 || away_.fetch_add(left, std::memory_order_acq_rel) == -left; // pairs: joined
  }
  bool arrive_away() noexcept { return away_.fetch_sub(1, std::memory_order_acq_rel) == 1; } // pairs: joined

  /// Counts a child that is dropped. If it is the last, destroys those that were dropped. Returns whether it
  /// is the last.
  bool arrive_dropped(strand& child, strand& innermost) noexcept;

 private:
  std::coroutine_handle<> go_on() noexcept {
    if (was_discarded()) [[unlikely]]
      return drop();
    return resume_parent();
  }
  std::coroutine_handle<> drop() noexcept;
  void destroy_dropped() noexcept;

  strand* next_ = nullptr; // to run in place, or to be destroyed
  std::uint32_t left_ = 0; // children that did not run in place
  atomic<std::int32_t> away_{0};
};

/// The join of a scope. Children may be forked into it until all have ended.
class scope_join : public join_point {
 public:
  using join_point::suspend;

  /// Begins the first child of the scope, in place. Call from the suspended parent.
  std::coroutine_handle<> begin(strand& first, const heritage& given, bool nested) noexcept {
    open_.store(1, std::memory_order_relaxed); // published by the queues that the others pass through
    adopt(first, strand_role::in_scope, given);
    return begin_first(first, nested);
  }
  /// Forks a child of the scope. Call from a strand of the scope.
  void fork(strand& child) noexcept {
    assert(open_.load(std::memory_order_relaxed) != 0 && "a task is forked into a scope that has ended");
    open_.fetch_add(1, std::memory_order_relaxed); // the caller counts, so it does not end meanwhile
    adopt(child, strand_role::in_scope, given_here());
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

/// Ends a strand whose coroutine has ended. Returns the coroutine that goes on.
[[gnu::hot]] std::coroutine_handle<> end_strand(strand& s) noexcept;

/// The operations that awaiters may do on a task.
class fork_access {
 public:
  /// Returns the strand of a task that stays the owner of its frame.
  template <class Task> static strand& strand_of(Task& t) noexcept {
    strand& s = unawaited(t);
    s.owner = &t.held_;
    return s;
  }
  template <class Task> static const void* frame_of(const Task& t) noexcept {
    return t.held_.frame.address();
  }
  /// Makes a root that is not queued a task again.
  template <class Task> static Task retake(strand& root) noexcept {
    root.act = nullptr;
    root.engine = nullptr;
    root.continuation = nullptr;
    return Task(static_cast<typename Task::promise_type&>(root));
  }
  template <class Task> static decltype(auto) take(const Task& t) { return t.held_.promise().take(); }
  /// Gives up the frame, which ends by itself.
  template <class Task> static strand& release(Task&& t) noexcept {
    strand& s = unawaited(t);
    t.held_.frame = nullptr;
    return s;
  }

 private:
  template <class Task> static strand& unawaited(const Task& t) noexcept {
    assert(t.held_.frame && "the forked task was moved from or submitted before");
    auto& promise = t.held_.promise();
    assert(!promise.continuation && "the forked task was awaited before");
    return promise;
  }
};

} // namespace corewise::detail
