#pragma once

#include "base/task_clock.hpp"
#include "queues/worker_queues.hpp"

#include <span>
#include <vector>

namespace corewise::detail {

/// Finds tasks that wait in a LIFO slot behind a task that does not end (design.md, D7b). Invariant: a task
/// that it takes out has been seen twice, `age` apart, and its worker has begun nothing in between. So no
/// time is kept with the task. Call from one thread at a time.
class slot_watch {
 public:
  /// `queues` outlive it.
  explicit slot_watch(std::span<worker_queues* const> queues) : queues_(queues), seen_(queues.size()) {}

  /// Calls `aged(index, task)` for each task that has waited for `age`, and has been taken out of its slot.
  /// Returns whether any slot was full. Leaves out that of a sole taker: no other worker could help it. Cost: a cache line
  /// for each worker, another one where the slot is full.
  template <class Aged>
  bool look(monotonic::time_point now, std::chrono::nanoseconds age, const Aged& aged) noexcept {
    bool any = false;
    for (std::size_t w = 0; w < queues_.size(); ++w) {
      sight at{queues_[w]->lifo.peek(), queues_[w]->started(), now};
      if (at.task != nullptr && !queues_[w]->takers.shared()) at.task = nullptr;
      sight& before = seen_[w];
      any = any || at.task != nullptr;
      if (at.task == nullptr || at.task != before.task || at.started != before.started) {
        before = at;
      } else if (now - before.since >= age) {
        if (task_header* t = queues_[w]->lifo.take()) aged(w, t);
        before = {};
      }
    }
    return any;
  }

 private:
  struct sight {
    const task_header* task = nullptr; // compared, never followed
    std::uint64_t started = 0;
    monotonic::time_point since;
  };

  std::span<worker_queues* const> queues_;
  std::vector<sight> seen_;
};

} // namespace corewise::detail
