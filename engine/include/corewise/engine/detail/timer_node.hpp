#pragma once

#include <atomic>
#include <cstdint>

namespace corewise {
struct task_header;
}

namespace corewise::detail {

/// A place in a circular list of timers.
struct timer_link {
  timer_link* next = nullptr;
  timer_link* previous = nullptr;
};

/// idle ──set──► pending ──► fired, or stopped; a timer that is stopped while it is idle cannot be set any more.
enum class timer_state : std::uint8_t { idle, pending, fired, stopped };

/// A timer: lives where it is awaited, or in the block of what it calls, and stays there while it is pending, so that
/// setting one allocates nothing. 40 bytes.
struct timer_node : timer_link {
  std::int64_t deadline_ns = 0; ///< of the steady clock
  task_header* task = nullptr;  ///< what goes on, or is called
  std::uint32_t group = 0;      ///< in whose wheel it is set
  /// Changed under the lock of the group's timers. Relaxed: who reads it without the lock was resumed since.
  std::atomic<timer_state> state{timer_state::idle};
  bool submits = false; ///< `task` is new to the engine: `after`, `every`; else it is a coroutine's place
};
static_assert(sizeof(timer_node) <= 64, "a million pending timers are to be cheap");

} // namespace corewise::detail
