#pragma once

#include "worker/shared.hpp"

// What happens at each fork: short, and inlined where coroutines, loops and scopes fork and take back.

namespace corewise::detail {

inline bool worker::try_fork(task_header* t) noexcept {
  if (!queues_.forks.push(t)) [[unlikely]] // no memory to grow
    return false;
  counts_.forked.add();
  engine_.idle().pushed(id_);
  return true;
}

inline void worker::fork(task_header* t) noexcept {
  if (!try_fork(t)) [[unlikely]]
    push(t);
}

/// What comes before forks in the loop comes before them here. It counts as a task of the interval and of the tick, so that
/// the loop comes round in time, and as one that was begun, so that a row of them is not taken for a task that does not end.
inline bool worker::take_back(const task_header* t) noexcept {
  if (others_are_due() || !queues_.forks.take_back(t)) return false;
  count_turn();
  counts_.in_place.add();
  return true;
}

// --- for a task that waits (blocking_scope.cpp)

inline std::uint64_t worker::next_fork() const noexcept { return queues_.forks.next_position(); }

inline task_header* worker::take_fork_since(std::uint64_t first) noexcept {
  return queues_.forks.pop_since(first);
}

/// As one of the interval and of the tick, and as one that was begun.
inline void worker::count_in_place() noexcept {
  plan_.count_before_due();
  ++polls_;
  touch(slot_, stamp_);
  counts_.in_place.add();
}

} // namespace corewise::detail
