#pragma once

#include "worker/shared.hpp"

// The code of each fork: short, and inlined where coroutines, loops and scopes fork and take back.

namespace corewise::detail {

inline bool worker::try_fork(task_header* t) noexcept {
  if (!queues().forks.push(t)) [[unlikely]] // no memory to grow
    return false;
  counts_.forked.add();
  engine_.idle().notify_pushed(id());
  return true;
}

inline bool worker::try_fork_row(strand& newest, std::uint32_t count) noexcept {
  if (!queues().forks.push_row(&newest, count, [](strand* s) { return s->sibling; })) [[unlikely]]
    return false;
  counts_.forked.add(count);
  engine_.idle().notify_pushed(id());
  return true;
}

/// Sources that come before forks in the loop come before them here. A fork that runs in place counts as a task of
/// the interval and of the tick, so that the loop comes round in time. It counts as begun, so that a row of forks
/// does not look like one task that does not end.
inline bool worker::take_back(const task_header* t) noexcept {
  if (others_are_due() || !queues().forks.take_back(t)) return false;
  count_turn();
  counts_.in_place.add();
  return true;
}

/// Takes the oldest task of that worker's deque of forks, or returns null. Call from any thread.
inline task_header* steal_fork(worker_queues& from) noexcept {
  for (;;) {
    const fork_deque::loot loot = from.forks.steal();
    if (loot.what != fork_deque::outcome::lost) return loot.task;
  }
}

// --- for a task that waits (blocking_scope.cpp)

/// Takes the oldest fork of the victim's deque if it lies at position `first` or above, or returns null.
task_header* steal_fork_since(worker& victim, std::uint64_t first) noexcept;

/// The fork counts as one of the interval and of the tick, and as one that was begun.
inline void worker::count_in_place() noexcept {
  plan_.count_before_due();
  tick_.count_task();
  touch(entry_, tick_.stamp());
  counts_.in_place.add();
}

} // namespace corewise::detail
