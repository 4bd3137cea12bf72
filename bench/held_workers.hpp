#pragma once

#include <memory_use.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <latch>
#include <thread>
#include <vector>

namespace corewise::bench {

/// Keeps each worker of a pool busy with a task that waits. While this object lives nothing else runs, and
/// all workers have begun.
///
/// Where workers do not steal, or no sleeper is woken for a task behind such a waiting one, two of them may
/// come to one worker. So as long as not all workers have begun there are more tasks, which end at once when
/// no worker is missing any more.
template <class Pool> class held_workers {
 public:
  held_workers(Pool& pool, std::uint32_t workers) : stacks_(workers) {
    while (begun_.load(std::memory_order_acquire) != workers) {
      for (std::uint32_t i = 0; i < workers; ++i) post_to(pool, i);
      wait_up_to(std::chrono::milliseconds(100),
                 [&] { return begun_.load(std::memory_order_acquire) == workers; });
    }
  }
  held_workers(const held_workers&) = delete;
  held_workers& operator=(const held_workers&) = delete;
  ~held_workers() {
    released_.count_down();
    while (ended_.load(std::memory_order_acquire) != posted_) std::this_thread::sleep_for(pause);
  }

  const std::vector<stack_range>& stacks() const noexcept { return stacks_; }

 private:
  static constexpr std::chrono::milliseconds pause{1};

  template <class Done> static void wait_up_to(std::chrono::milliseconds most, Done done) {
    for (std::chrono::milliseconds waited{0}; !done() && waited < most; waited += pause)
      std::this_thread::sleep_for(pause);
  }

  void post_to(Pool& pool, std::uint32_t worker) {
    ++posted_;
    const auto task = [this] {
      hold();
      ended_.fetch_add(1, std::memory_order_release);
    };
    if constexpr (requires { pool.post_to(worker, task); })
      pool.post_to(worker, task);
    else
      pool.post(task);
  }
  void hold() {
    const std::uint32_t mine = next_.fetch_add(1, std::memory_order_relaxed);
    if (mine >= stacks_.size()) return;
    stacks_[mine] = stack_range::of_this_thread();
    begun_.fetch_add(1, std::memory_order_release);
    released_.wait();
  }

  std::uint64_t posted_ = 0;
  std::atomic<std::uint32_t> next_{0};  // relaxed: counts alone
  std::atomic<std::uint32_t> begun_{0}; // publishes stacks_
  std::atomic<std::uint64_t> ended_{0}; // the last that a task touches
  std::latch released_{1};
  std::vector<stack_range> stacks_;
};

} // namespace corewise::bench
