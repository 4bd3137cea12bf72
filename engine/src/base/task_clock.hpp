#pragma once

#include "base/clock.hpp"

#include <corewise/policies/detail/atomic.hpp>
#include <corewise/policies/shared_work.hpp>

#include <cstdint>

namespace corewise::detail {

/// The average time of a worker's tasks: an exponentially weighted mean over ticks, α = 0.1, first guess 50
/// µs. The seat's thread writes it; any thread may read it.
class task_clock {
 public:
  void sample(std::chrono::nanoseconds time, std::uint32_t tasks) noexcept {
    if (tasks == 0) return;
    average_ns_.store(next_average(average_ns_.load(std::memory_order_relaxed), time, tasks),
                      std::memory_order_relaxed);
  }
  std::uint64_t average_ns() const noexcept { return average_ns_.load(std::memory_order_relaxed); }

 private:
  atomic<std::uint64_t> average_ns_{first_task_time_ns}; // relaxed: a number
};

} // namespace corewise::detail
