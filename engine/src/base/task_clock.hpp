#pragma once

#include <corewise/policies/shared_work.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>

namespace corewise::detail {

using monotonic = std::chrono::steady_clock;

/// How long the tasks of a worker take on average: an exponentially weighted mean over ticks, α = 0.1, first
/// guess 50 µs. Written by the seat's thread; read by anybody.
class task_clock {
 public:
  void sample(std::chrono::nanoseconds time, std::uint32_t tasks) noexcept {
    if (tasks == 0) return;
    average_ns_.store(next_average(average_ns_.load(std::memory_order_relaxed), time, tasks),
                      std::memory_order_relaxed);
  }
  std::uint64_t average_ns() const noexcept { return average_ns_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> average_ns_{first_task_time_ns}; // relaxed: a number
};

} // namespace corewise::detail
