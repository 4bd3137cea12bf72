#pragma once

#include "base/task_clock.hpp"
#include "queues/worker_queues.hpp"

#include <vector>

namespace corewise::detail {

/// Finds tasks that wait in a LIFO slot behind one that does not end (design.md, D7b). No time is kept with the task: one
/// that is seen twice, `age` apart, while its worker has begun nothing meanwhile, has waited that long. One thread at a
/// time.
class slot_watch {
 public:
  /// `queues` outlive it.
  explicit slot_watch(std::span<worker_queues* const> queues) : queues_(queues), seen_(queues.size()) {}

  /// Calls `aged(index, task)` for each task that has waited for `age`, which is then out of its slot. Cost: a cache
  /// line for each worker.
  template <class Aged>
  void look(monotonic::time_point now, std::chrono::nanoseconds age, const Aged& aged) noexcept {
    for (std::size_t w = 0; w < queues_.size(); ++w) {
      const sight at{queues_[w]->next.peek(), queues_[w]->started(), now};
      sight& before = seen_[w];
      if (at.task == nullptr || at.task != before.task || at.started != before.started) {
        before = at;
      } else if (now - before.since >= age) {
        if (task_header* t = queues_[w]->next.take()) aged(w, t);
        before = {};
      }
    }
  }

 private:
  struct sight {
    const task_header* task = nullptr; // compared, never followed
    std::uint32_t started = 0;
    monotonic::time_point since;
  };

  std::span<worker_queues* const> queues_;
  std::vector<sight> seen_;
};

} // namespace corewise::detail
