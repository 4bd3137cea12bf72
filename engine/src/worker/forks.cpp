#include "worker/forks.hpp"

#include <corewise/policies/activity.hpp>

// How forked tasks come to the loop, to thieves, and to tasks that wait.

namespace corewise::detail {

/// Whether thieves find nothing of what the task that runs could give them.
bool worker::lacks_forks(task_class c) const noexcept {
  return c == task_class::normal ? queues_.forks.empty() : !classes_.of(c).waiting();
}

/// What a batch has put in front comes before forks, as it comes before the LIFO slot.
task_header* worker::take_fork() noexcept { return in_front() ? nullptr : queues_.forks.pop(); }

/// When others are due: the ring, behind the forks, takes turns with what all share.
task_header* worker::poll_ring() noexcept {
  if (queues_.forks.empty()) return nullptr;
  return plan_.pick_ring() ? queues_.ring.pop() : nullptr;
}

task_header* worker::steal_fork(worker_queues& from) noexcept {
  for (;;) {
    const fork_deque::loot loot = from.forks.steal();
    if (loot.what != fork_deque::outcome::lost) return loot.task;
  }
}

// --- for a task that waits (blocking_scope.cpp)

task_header* worker::steal_fork_since(worker& from, std::uint64_t first) noexcept {
  for (;;) {
    const fork_deque::loot loot = from.queues_.forks.steal_since(first);
    if (loot.what == fork_deque::outcome::lost) continue;
    if (loot.task != nullptr) engine_.publish_load(from.place());
    return loot.task;
  }
}

void worker::count_leapfrogged() noexcept {
  touch(slot_, stamp_);
  counts_.leapfrogged.add();
}

} // namespace corewise::detail
