#include "worker/forks.hpp"

// How forked tasks come to thieves, and to tasks that wait.

namespace corewise::detail {

task_header* steal_fork_since(worker& victim, std::uint64_t first) noexcept {
  for (;;) {
    const fork_deque::loot loot = victim.queues().forks.steal_since(first);
    if (loot.what == fork_deque::outcome::lost) continue;
    if (loot.task != nullptr) victim.engine().publish_load(victim.place());
    return loot.task;
  }
}

void worker::count_leapfrogged() noexcept {
  touch(entry_, tick_.stamp());
  counts_.leapfrogged.add();
}

} // namespace corewise::detail
