#pragma once

#include "local_queue.hpp"

#include <mutex>

namespace corewise::detail {

/// What a group's workers have no room for: an unbounded FIFO behind a lock, entered only when a ring
/// overflows or an inbox is full, and left in batches. The length is read without the lock, so that looking
/// costs one load.
class alignas(128) injection_queue {
 public:
  /// Any thread.
  void push(const task_chain& chain) noexcept {
    if (chain.size == 0) return;
    interleave();
    const std::scoped_lock lock(mutex_);
    (waiting_.last == nullptr ? waiting_.first : waiting_.last->next) = chain.first;
    waiting_.last = chain.last;
    waiting_.size += chain.size;
    size_.store(waiting_.size, std::memory_order_relaxed);
    put_.store(put() + chain.size, std::memory_order_relaxed);
  }

  /// Any thread.
  void push(task_header* t) noexcept {
    task_chain one;
    one.push(t);
    push(one);
  }

  /// Any thread. Up to `most` of the oldest tasks.
  task_chain pop(std::uint32_t most) noexcept {
    if (size() == 0) return {};
    interleave();
    const std::scoped_lock lock(mutex_);
    task_chain out;
    while (out.size < most && waiting_.size > 0) out.push(waiting_.pop());
    size_.store(waiting_.size, std::memory_order_relaxed);
    return out;
  }

  /// How many tasks wait. One load.
  std::uint32_t size() const noexcept { return size_.load(std::memory_order_relaxed); }
  /// Tasks that were ever put in.
  std::uint64_t put() const noexcept { return put_.load(std::memory_order_relaxed); }

 private:
  std::mutex mutex_;
  task_chain waiting_;
  std::atomic<std::uint32_t> size_{0}; // relaxed: a number; the tasks are published by the mutex
  std::atomic<std::uint64_t> put_{0};  // relaxed: a number, written under the mutex
};

} // namespace corewise::detail
