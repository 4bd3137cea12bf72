#pragma once

#include "base/clock.hpp"
#include "base/fence.hpp"
#include "base/futex.hpp"
#include "books/ledger.hpp"

#include <corewise/engine/detail/lock.hpp>
#include <corewise/policies/detail/atomic.hpp>

#include <mutex>

// How `drain` waits for the tasks that were submitted before it, without waiting for later ones.
//
// Invariant: a drain returns only after it has seen the books of the phase that it closed balance.
//
// Work is counted in one of two phases (ledger.hpp). A drain sees that the closed phase is empty, closes the
// open phase by opening the other one, and waits until the books of the phase that it closed balance. Drains
// take turns.
//
// A worker tells the waiters, if there are any, when it runs out of work, when it goes from a task of one
// phase to a task of the other, and at the end of a tick. Either the worker's fence comes before the
// waiter's, and the waiter's sums contain the tasks that the worker finished; or the waiter's fence comes
// first, and the worker sees the waiter. tests/model/drain.pml proves it.
//
// | tag      | release site             | acquire site     | publishes           | weakened                 |
// |----------|--------------------------|------------------|---------------------|--------------------------|
// | progress | progress: full_fence     | wait: full_fence | nothing; order only | a drain sleeps, though   |
// |          | wait: waiters_ fetch_add | (all seq_cst)    |                     | all its tasks have ended |
// | news     | progress: fetch_add      | wait: news_ load | the books, and what | it sums older books, and |
// |          |                          |                  | else `done` reads   | sleeps after the last    |
// |          |                          |                  |                     | news                     |
//
// `open_` publishes nothing: a submitter may still read the older phase, and then counts its task there, once
// for all. The drain that changed `open_` waits for the tasks of that phase that it sees. A task that it
// misses was submitted while the drain ran.
//
// A drain that waits for its turn also covers tasks that are submitted until it closes the phase. So a task
// must not wait for a drain that began before the task was submitted.

namespace corewise::detail {

class drain_gate {
 public:
  /// The phase to which tasks from outside are counted.
  std::uint8_t open_phase() const noexcept { return open_.load(std::memory_order_relaxed); }

  /// Tells the waiters that tasks have finished. Call from any thread that has finished tasks. Cost: a fence
  /// and a load while no thread waits.
  void progress() noexcept {
    full_fence(); // pairs: progress
    if (waiters_.load(std::memory_order_relaxed) == 0) return;
    news_.fetch_add(1, std::memory_order_release); // pairs: news
    futex_wake_all(news_);
  }

  /// Waits for all tasks that were submitted before. `quiet(phase)` returns whether the books of a phase
  /// balance.
  template <class Quiet> void drain(const Quiet& quiet) {
    const std::scoped_lock turn(mutex_);
    const std::uint8_t closing = open_phase();
    const auto opening = static_cast<std::uint8_t>(1 - closing);
    wait([&] { return quiet(opening); }, {});
    open_.store(opening, std::memory_order_seq_cst); // before the fence of `wait`; pairs: progress
    wait([&] { return quiet(closing); }, {});
  }

  /// Waits until `done()`, at most until `limit`. Returns false if the time ran out.
  template <class Done> bool wait(const Done& done, std::optional<monotonic::time_point> limit) {
    waiters_.fetch_add(1, std::memory_order_seq_cst); // pairs: progress
    full_fence();                                     // pairs: progress
    bool in_time = true;
    for (;;) {
      const std::uint32_t seen = news_.load(std::memory_order_acquire); // pairs: news
      if (done()) break;
      std::optional<std::chrono::nanoseconds> left;
      if (limit) {
        left = *limit - monotonic::now();
        if (left->count() <= 0) {
          in_time = false;
          break;
        }
      }
      futex_wait(news_, seen, left);
    }
    waiters_.fetch_sub(1, std::memory_order_relaxed);
    return in_time;
  }

 private:
  mutex mutex_;
  alignas(128) atomic<std::uint32_t> waiters_{0};
  atomic<std::uint8_t> open_{0};
  atomic<std::uint32_t> news_{0};
};

} // namespace corewise::detail
