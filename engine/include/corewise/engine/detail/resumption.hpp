#pragma once

#include <corewise/engine/detail/execution.hpp>
#include <corewise/engine/detail/task_header.hpp>
#include <corewise/engine/detail/transfer.hpp>

#include <type_traits>

// How coroutines are queued. The coroutine that was submitted, and runs as a task, is a *root*. It awaits
// others, which await others. When any of them suspends it puts a *resumption* into its own frame, and the
// resumption is queued, or left where a waker will find it. So suspending allocates nothing, and any type of
// coroutine may await what corewise offers.
//
// A root that yields needs no resumption: it is queued itself, as it was at first.
//
// The end of an engine drops coroutines. A frame's destructor destroys the coroutine that the frame awaits,
// and that one's frame its own, on the stack. So a dropped coroutine is *unwound* first: the innermost frame
// is destroyed, then the one that awaits it, and so on to the root or to a forked child (fork_join.hpp).
// When the last of several children was dropped, their parent is unwound in the same way. A frame of another
// type than `task` ends that, since nothing tells which coroutine awaits it; what is left is destroyed on the
// stack.
//
// A coroutine that a task resumes by hand belongs to that task's root. It must end, or be destroyed, before
// that task ends or moves to another engine (ADR 0037).

namespace corewise::detail {

/// The owner of a coroutine's frame; null: it owns none. While the coroutine is awaited, or is a child of
/// `when_all`, it stays in its place.
struct frame_owner {
  std::coroutine_handle<> frame;
};

/// A coroutine that an engine runs as one task, from submission to end, however often it is suspended.
struct coroutine_root : task_header {
  /// Set in a coroutine that is awaited: a task may have resumed its awaiter by hand, and may wait beneath.
  bool nested = false;
  /// Of its frame, if another task awaits it or forked it by `when_all`; else null.
  frame_owner* owner = nullptr;
  runtime* engine = nullptr; ///< null: not submitted; another coroutine awaits it
  worker* last = nullptr;    ///< the seat that it ran on last; null: none yet

  std::coroutine_handle<> frame() noexcept {
    return std::coroutine_handle<coroutine_root>::from_promise(*this);
  }
  /// Returns whether the calling coroutine is the one that its thread runs as a task, and not awaited by that
  /// one.
  bool runs() const noexcept { return this_execution.root == this; }
  /// Acts as `resumption::give_way` (below), for a root that runs and is about to suspend.
  [[gnu::hot, nodiscard]] std::coroutine_handle<> give_way() noexcept;

  /// The `act` of a submitted or forked coroutine (a strand: fork_join.hpp), from its beginning or from where
  /// it gave way.
  [[gnu::hot]] static bool perform(task_header* t, task_action action);
};

/// Returns whether a frame with such a promise is that of a task.
template <class Promise> constexpr bool of_task() noexcept {
  return std::is_base_of_v<coroutine_root, Promise>;
}

/// The entry of a suspended coroutine in a queue. Lives in the coroutine's frame, within an awaiter.
struct resumption : task_header {
  static constexpr std::uint8_t is_suspension =
      1; ///< the `mark` of one that may stand in an entry (suspension.hpp)

  std::coroutine_handle<> frame;
  coroutine_root* root = nullptr;

  /// Notes the suspended coroutine. Call from that coroutine, before any other thread can see the resumption.
  template <class Promise> void suspend(std::coroutine_handle<Promise> suspended) noexcept {
    suspend(suspended, of_task<Promise>());
  }
  void suspend(std::coroutine_handle<> suspended, bool is_of_task) noexcept {
    act = is_of_task ? &perform : &perform_foreign;
    frame = suspended;
    root = this_execution.root;
    phase = this_execution.phase;
    if (root != nullptr && this_execution.seat != nullptr) root->last = this_execution.seat;
  }

  /// Queues the coroutine behind the tasks that wait already. Call from the suspended coroutine's thread, as
  /// its last step: it goes on with the returned coroutine.
  [[gnu::hot, nodiscard]] std::coroutine_handle<> give_way() noexcept;
  /// Queues the coroutine as the next to run; outside of engines, resumes it at once instead, or soon where
  /// the thread resumes hundreds within one another. Call from any thread, once.
  [[gnu::hot]] void wake() noexcept;
  /// Does the same, but queues the coroutine behind the tasks that wait on the caller's worker.
  void wake_behind() noexcept;

  /// The `act` where the suspended frame is that of a task, and where it is not.
  [[gnu::hot]] static bool perform(task_header* t, task_action action);
  [[gnu::hot]] static bool perform_foreign(task_header* t, task_action action);
};

/// Returns whether a task may wait beneath that coroutine until it gives the thread back. That is so where
/// the coroutine, or one that awaits it, is of another type: a task may have resumed it by hand. Such a
/// coroutine never gives the thread to another root, since it holds up the task that waits, and goes on as if
/// it were of that root.
template <class Promise> bool nested(std::coroutine_handle<Promise> awaits) noexcept {
  if constexpr (std::is_base_of_v<coroutine_root, Promise>)
    return awaits.promise().nested;
  else
    return true;
}

/// Runs a root's coroutines from `frame` until one is suspended or the root ends. When the root gives way,
/// runs the coroutine that comes in its place in the same way. Returns whether the last root ended.
inline bool resume_frame(coroutine_root* root, std::coroutine_handle<> frame) {
  execution& here = this_execution;
  here.root = root;
  drive(frame);
  here.root = nullptr;
  return std::exchange(here.root_ended, false);
}
/// Ends that after an exception. It comes from a coroutine of another type, which has ended by it. That one may have been
/// resumed by hand, or in place of a root that gave way: so the root, which may wait for something else, has not
/// ended by it. Call while the exception is handled. Returns whether the root that ran last had ended.
bool foreign_failed() noexcept;

} // namespace corewise::detail
