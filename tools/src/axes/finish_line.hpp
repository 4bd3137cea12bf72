#pragma once

#include "finish_signal.hpp"

#include <atomic>
#include <cstdint>

namespace corewise::command {

/// The counter that all tasks of a pass count down; the last task signals. On lines of its own: it lies on
/// the stack of the submitting thread, whose calls would otherwise wait for each count.
class alignas(128) finish_line {
 public:
  explicit finish_line(std::uint64_t tasks) : left_(tasks) {}

  /// Crosses the line, as a task's last step. `seen`: operations that the task has seen done.
  void cross(std::uint64_t seen) noexcept {
    if (seen != 0) seen_.fetch_add(seen, std::memory_order_relaxed);
    if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) signal_.give();
  }
  /// Waits for the last task. Returns the sum of all `seen`.
  std::uint64_t wait() noexcept {
    signal_.wait();
    return seen_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint64_t> left_;
  std::atomic<std::uint64_t> seen_{0};
  finish_signal signal_;
};

} // namespace corewise::command
