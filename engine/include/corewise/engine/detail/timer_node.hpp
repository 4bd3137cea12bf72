#pragma once

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
};
static_assert(sizeof(timer_node) <= 64,
              "a pending timer fits into one cache line, so that a million of them are cheap");

} // namespace corewise::detail
