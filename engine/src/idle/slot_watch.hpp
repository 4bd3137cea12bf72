#pragma once

#include "base/fence.hpp"
#include "base/task_clock.hpp"
#include "queues/worker_queues.hpp"

#include <corewise/policies/detail/atomic.hpp>

#include <vector>

// How a task is found that waits in a LIFO slot behind a task that does not end (design.md, D7b).
//
// Invariant: while a task lies in the slot of a worker that is awake, and the sentinel (sentinel.hpp)
// sleeps, the sentinel wakes up by time and looks, or the worker is about to wake it.
//
// The sentinel looks every 50 us to 1 ms while any worker is awake, and pushes each task that has aged to
// the inbox of the slot's worker, as if the task had just come. No time is kept with the task: a task that
// is seen twice, `age` apart, while its worker has begun nothing meanwhile, has waited that long.
//
//     worker                                      sentinel
//     S1  awake: not counted as parked            T1  watching = false
//     S2  put the task into the slot              T2  full fence
//     S3  full fence, the first time              T3  a worker is not parked: watching again
//     S4  watching: done; else wake the sentinel  T4  sleep as long as it likes
//
// One of the two fences comes first: S4 sees `false`, or T3 sees that the worker is awake, and the sentinel
// watches until the worker sleeps. tests/model/slot.pml proves it, and that it fails without a fence and
// without T3.
//
// | tag    | release site         | acquire site         | publishes           | weakened                  |
// |--------|----------------------|----------------------|---------------------|---------------------------|
// | S3, T2 | full_fence (seq_cst) | full_fence (seq_cst) | nothing; order only | no worker watches a slot  |

namespace corewise::detail {

class slot_watch {
 public:
  /// `queues` outlive it.
  explicit slot_watch(std::span<worker_queues* const> queues) : queues_(queues), seen_(queues.size()) {}

  /// Steps S3 and S4. Returns whether the sentinel watches. Call from a worker that has filled its slot.
  bool watches() const noexcept {
    full_fence(); // S3
    return watching_.load(std::memory_order_relaxed);
  }

  // --- the sentinel

  /// Notes that the sentinel wakes up by time until it says otherwise.
  void begin() noexcept { watching_.store(true, std::memory_order_relaxed); }
  /// Steps T1 to T3. `all_parked()` returns whether all workers sleep. Returns whether the sentinel must
  /// watch on.
  template <class AllParked> bool must_go_on(const AllParked& all_parked) noexcept {
    if (!all_parked()) return true;
    end();                         // T1
    full_fence();                  // T2
    const bool on = !all_parked(); // T3
    if (on) begin();
    return on;
  }
  /// Notes that the sentinel watches no longer.
  void end() noexcept { watching_.store(false, std::memory_order_relaxed); }

  /// Calls `aged(index, task)` for each task that has waited for `age`, and has been taken out of its slot.
  /// Cost: a cache line for each worker.
  template <class Aged>
  void look(monotonic::time_point now, std::chrono::nanoseconds age, const Aged& aged) noexcept {
    for (std::size_t w = 0; w < queues_.size(); ++w) {
      const sight at{queues_[w]->lifo.peek(), queues_[w]->started(), now};
      sight& before = seen_[w];
      if (at.task == nullptr || at.task != before.task || at.started != before.started) {
        before = at;
      } else if (now - before.since >= age) {
        if (task_header* t = queues_[w]->lifo.take()) aged(w, t);
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
  std::vector<sight> seen_; // the sentinel's
  atomic<bool> watching_{false};
};

} // namespace corewise::detail
