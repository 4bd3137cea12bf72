#pragma once

#include <corewise/engine/detail/lock.hpp>
#include <corewise/engine/detail/waiter_list.hpp>
#include <corewise/engine/profile.hpp>
#include <corewise/policies/detail/atomic.hpp>

#include <cstdint>
#include <stop_token>

// How many blocking calls of an engine run at once (`blocking.max_concurrent`; ADR 0052).
//
// A call needs a *permit*. Where none is free, the coroutine or the thread waits in one list, and is served in
// the order of arrival. The thread that gives a permit back passes it to the first waiter:
//
//     a waiting thread      runs its call at once
//     a waiting coroutine   is *called up*: sent to a worker, which begins the call when it comes to it
//
// A permit of a coroutine that is called up counts as taken, so no newcomer gets it. But the coroutine needs a
// worker, and all workers may be in calls that wait for a permit. So waiting threads look now and then. If no
// coroutine has begun in the meantime, the first thread takes such a permit over. The coroutine that then
// finds no permit goes back to the front of the list. So a thread waits only for calls that run.
//
// Invariant: running + called up <= most, except for calls that were let in before a reload lowered `most`.
// While any waits, both are equal, or a change of `most` is about to serve the list.
//
// One lock guards all of it: a call takes microseconds at least. An engine without a limit reads one word.

namespace corewise::detail {

class blocking_limit {
 public:
  explicit blocking_limit(const profile& p) noexcept;

  /// Puts the limit of another profile in force, and lets calls in for which there is room now. If calls in
  /// excess are to be refused from now on, refuses the plain ones that wait. Calls that began without a limit hold
  /// no permit. Call from any thread.
  void change(const profile& p) noexcept;

  /// Returns whether there is a limit. Call from any thread.
  bool limits() const noexcept { return most_.load(std::memory_order_relaxed) != 0; }
  /// Returns the limit for a call that the calling thread begins now. Returns null if the call needs no
  /// permit: there is no limit, or the call is a part of another, or is made outside of an engine's tasks.
  static blocking_limit* here() noexcept;

  /// Takes a permit if one is free. Returns whether it did. Call from any thread.
  bool try_take() noexcept;
  /// Does the same for a plain call. Throws `blocking_full` where the call is not to wait.
  bool try_take_or_throw();
  /// Takes a permit. The calling thread sleeps until there is one, so lend its seat before.
  void wait() noexcept { static_cast<void>(wait_as(/*may_be_refused=*/false)); }
  /// Does the same for a plain call. Returns false, without a permit, if calls in excess are refused from now on.
  bool wait_or_be_refused() noexcept { return wait_as(/*may_be_refused=*/true); }
  /// Gives a permit back. Call from any thread.
  void give() noexcept;

  // For a coroutine, as a `Source` of `awaiting`:

  /// Takes a permit, or puts the coroutine into the list. Returns whether it waits.
  bool enter(waiter& w) noexcept;
  bool leave(waiter& w) noexcept;
  /// Takes the permit for which the coroutine was called up, and returns `taken`. If a thread has taken that one over:
  /// `stopped` after a stop; else `queued`, and the coroutine waits again, and is not the caller's any more. Call from
  /// the worker's thread.
  wait_state begin(waiter& w, const std::stop_token& until = {}) noexcept;
  /// Passes on the permit of a coroutine that was called up, and is destroyed before it has begun.
  void give_back() noexcept;

  struct counts {
    std::uint64_t running = 0; ///< that have a permit now
    std::uint64_t waiting = 0; ///< for a permit now
    std::uint64_t waited = 0;  ///< in all
    std::uint64_t refused = 0; ///< by `blocking_full`
  };
  /// Call from any thread.
  counts count() const noexcept;

 private:
  struct sleeper;
  struct sight {
    bool any_called = false;
    std::uint64_t begun = 0;
  };

  bool of_parent() const noexcept;
  void set(const profile& p) noexcept;
  bool has_room() const noexcept;
  bool take_free() noexcept;
  void push(waiter& w) noexcept;
  bool wait_as(bool may_be_refused) noexcept;
  waiter* serve() noexcept;
  waiter* refuse() noexcept;
  waiter* take_over(sight& before) noexcept;
  static void wake(waiter* first) noexcept;

  const std::uint32_t process_;   // in which it was made
  atomic<std::uint32_t> most_{0}; // 0: no limit. Changed under the lock; relaxed without it: a setting
  mutable mutex mutex_;           // guards the rest
  excess_action on_full_ = excess_action::wait;
  std::uint64_t called_ = 0; // permits of coroutines that were called up and have not begun
  std::uint64_t begun_ = 0;  // coroutines that have begun after they were called up
  counts counts_;
  waiter_list waiters_;
};

/// The object for which `run_blocking` waits: a permit in the limit of the engine that runs the coroutine.
struct call_permit {
  static constexpr bool enters_at_once = false;

  bool try_pass(const waiter& w) noexcept;
  bool enter(waiter& w) noexcept { return limit->enter(w); }
  bool leave(waiter& w) noexcept { return limit->leave(w); }
  void give_back() noexcept {
    if (limit != nullptr) limit->give_back();
  }

  blocking_limit* limit = nullptr; ///< null: the call needs no permit
};

/// While it lives, blocking calls of the calling thread need no permit.
class unlimited_calls {
 public:
  unlimited_calls() noexcept;
  unlimited_calls(const unlimited_calls&) = delete;
  unlimited_calls& operator=(const unlimited_calls&) = delete;
  ~unlimited_calls();

 private:
  const bool before_;
};

/// Sets whether blocking calls of the calling thread need no permit. Returns the former answer.
bool set_unlimited(bool unlimited) noexcept;
/// Returns whether they need none.
bool is_unlimited() noexcept;

} // namespace corewise::detail
