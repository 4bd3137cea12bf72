#include "queues/sole_taker.hpp"

#include "base/clock.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace corewise::detail {

namespace {

bool membarrier(int command) noexcept { return ::syscall(SYS_membarrier, command, 0, 0) == 0; }

/// Registers the process for the barrier, and returns whether the kernel has it. The first time in a process
/// of several threads this takes some milliseconds, for which the engine's end should not wait.
bool has_barrier() noexcept { return membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED); }

} // namespace

sole_taker::sole_taker(bool alone) noexcept : others_(alone && has_barrier() ? none : come) {}

bool sole_taker::share() noexcept {
  if (shared()) return true;
  others_.store(asked, std::memory_order_relaxed);                 // S1
  if (!membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) return false; // S2
  while (inside_.load(std::memory_order_acquire))                  // S3, pairs: sole
    sleep_for(std::chrono::microseconds{20});
  others_.store(come, std::memory_order_release); // S4, pairs: come
  return true;
}

} // namespace corewise::detail
