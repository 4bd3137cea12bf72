#pragma once

#include <corewise/engine/detail/race.hpp>
#include <corewise/policies/detail/atomic.hpp>

#include <cstdint>

namespace corewise {
struct task_header;
}

namespace corewise::detail {

/// The links of a timer in a circular list.
struct timer_link {
  timer_link* next = nullptr;
  timer_link* previous = nullptr;
};

/// idle ──set──► pending ──► fired, or stopped. A timer that is stopped while idle cannot be set any more.
enum class timer_state : std::uint8_t { idle, pending, fired, stopped };

/// A timer. It lives where it is awaited, or in the block of its call, and stays there while it is pending,
/// so that setting a timer allocates nothing. 40 bytes.
struct timer_node : timer_link {
  std::int64_t deadline_ns = 0; ///< of the steady clock
  task_header* task = nullptr;  ///< the coroutine that goes on, or the call
  std::uint32_t group = 0;      ///< the group in whose wheel it is set
  /// Changed under the lock of the group's timers. Relaxed: a thread that reads it without the lock was
  /// resumed since.
  atomic<timer_state> state{timer_state::idle};
  bool submits = false; ///< `task` is new to the engine: `after`, `every`; else it is a resumption
  bool raced = false;   ///< it is a `raced_timer`
  bool again = false;   ///< it has fired before, found no room and was set again
};
static_assert(sizeof(timer_node) <= 64,
              "a pending timer fits into one cache line, so that a million of them are cheap");

/// A timer that may be a part of a race.
struct raced_timer : timer_node {
  const race_part* part = nullptr; ///< if it is raced

  static raced_timer& of(timer_node& t) noexcept { return static_cast<raced_timer&>(t); }
};

/// Returns whether the timer may fire. Call under the lock of its group's timers, once.
inline bool claim(timer_node& t) noexcept {
  if (!t.raced) [[likely]]
    return true;
  const race_part& part = *raced_timer::of(t).part;
  return part.race->claim(part);
}
/// Returns whether the timer's task may be destroyed in place of its firing, at the engine's end. Call as
/// above.
inline bool claim_at_end(timer_node& t) noexcept {
  return !t.raced || (raced_timer::of(t).part->race->sleeps && claim(t));
}
/// Returns whether the coroutine of a timer that has fired must be resumed; if not, t may be gone.
inline bool resumes(timer_node& t) noexcept { return !t.raced || raced_timer::of(t).part->race->meet(); }

} // namespace corewise::detail
