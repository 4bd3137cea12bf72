#pragma once

#include <corewise/engine/detail/execution.hpp>
#include <corewise/engine/detail/task_header.hpp>
#include <corewise/engine/detail/transfer.hpp>

// How coroutines are queued. What runs as a task is a *root*: the coroutine that was submitted. It awaits others, which
// await others; whichever of them suspends puts a *resumption* into its own frame, and that is queued, or left where
// somebody will find it. So suspending allocates nothing, and any type of coroutine may await what corewise offers.
// A root that yields needs none: it is queued itself, as it was at first.
// One that a task resumes by hand is of that task's root, and is to end, or be destroyed, before that task does, or moves to
// another engine (ADR 0037).

namespace corewise::detail {

/// A coroutine that an engine runs as one task, from its submission to its end, however often it is suspended.
struct coroutine_root : task_header {
  /// Of a coroutine that is awaited: somebody may have resumed by hand what awaits it, within a task, and waits beneath.
  bool nested = false;
  std::coroutine_handle<> frame; ///< its own
  runtime* engine = nullptr;     ///< null: not submitted; somebody awaits it
  worker* last = nullptr;        ///< the seat that it ran on last; null: none yet

  /// The calling coroutine: whether it is what its thread runs as a task, and not awaited by that.
  bool runs() const noexcept { return this_execution.root == this; }
  /// As that of a resumption (below), where it runs and is about to suspend.
  [[gnu::hot, nodiscard]] std::coroutine_handle<> give_way() noexcept;

  /// `act` of a submitted or forked coroutine (a strand: fork_join.hpp), from its beginning or from where it gave way.
  [[gnu::hot]] static bool perform(task_header* t, task_action action);
};

/// The place in a queue of a suspended coroutine. Lives in the coroutine's frame, within an awaiter.
struct resumption : task_header {
  std::coroutine_handle<> frame;
  coroutine_root* root = nullptr;

  /// Notes who is suspended. The coroutine that calls, before anybody else can see the resumption.
  void suspend(std::coroutine_handle<> suspended) noexcept {
    act = &perform;
    frame = suspended;
    root = this_execution.root;
    phase = this_execution.phase;
    if (root != nullptr && this_execution.seat != nullptr) root->last = this_execution.seat;
  }

  /// Queues it behind what waits already. The suspended coroutine's thread, as its last step: it goes on with what is
  /// answered.
  [[gnu::hot, nodiscard]] std::coroutine_handle<> give_way() noexcept;
  /// Queues it as the next to run. Any thread, once; outside of engines it is resumed at once instead.
  [[gnu::hot]] void wake() noexcept;
  /// The same, behind what waits on the caller's worker.
  void wake_behind() noexcept;

  [[gnu::hot]] static bool perform(task_header* t, task_action action);
};

/// Whether somebody may wait beneath that coroutine until it gives the thread back: where it is of another type, or awaited by
/// one that is, which may have been resumed by hand within a task. Such a one never gives the thread to another root, for
/// whoever waits is held up by it, and goes on as if it were of that root.
template <class Promise> bool nested(std::coroutine_handle<Promise> awaits) noexcept {
  if constexpr (std::is_base_of_v<coroutine_root, Promise>)
    return awaits.promise().nested;
  else
    return true;
}

/// Runs a root's coroutines from `frame` until one is suspended or the root ends, and in the same way what comes in its place
/// when it gives way; answers whether the last root ended.
inline bool resume_frame(coroutine_root* root, std::coroutine_handle<> frame) {
  execution& here = this_execution;
  here.root = root;
  drive(frame);
  here.root = nullptr;
  return std::exchange(here.root_ended, false);
}

} // namespace corewise::detail
