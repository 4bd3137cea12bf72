#pragma once

#include <corewise/engine/engine.hpp>

#include <cstdint>
#include <semaphore>
#include <span>
#include <string_view>

// Four workloads that pull a scheduler in four directions; one that gives an axis away shows it here. They are those of
// Tokio's multi-threaded benchmark. A *pass* posts its roots from outside, one by one, and ends when the last task of the
// pass has signalled, so it contains waking the pool and waking the waiter.

namespace corewise::command {

struct axis {
  std::string_view name;
  std::string_view description;
  std::uint64_t ops;                        ///< operations of a pass, of which one's time is told
  std::uint64_t (*pass)(corewise::engine&); ///< answers how many operations it has seen done
};

extern const axis ping_pong;
extern const axis chained_fork;
extern const axis fork_many;
extern const axis yield_many;

/// What all tasks of a pass count down; the last one signals.
class finish_line {
 public:
  explicit finish_line(std::uint64_t tasks) noexcept : left_(tasks) {}

  /// A task's last step. `seen`: operations that it has seen done.
  void cross(std::uint64_t seen) noexcept {
    if (seen != 0) seen_.fetch_add(seen, std::memory_order_relaxed);
    if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) signal_.release();
  }
  /// Answers the sum of all `seen`.
  std::uint64_t wait() noexcept {
    signal_.acquire();
    return seen_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint64_t> left_;
  std::atomic<std::uint64_t> seen_{0};
  std::binary_semaphore signal_{0};
};

/// Submits to an engine that accepts everything: the workloads bound themselves.
template <class Task> void post(corewise::engine& e, Task&& t) {
  if (e.submit(std::forward<Task>(t)) != submit_result::accepted) std::terminate();
}

} // namespace corewise::command
