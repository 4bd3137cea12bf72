#include "sole_taker.hpp"

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace corewise::detail {

namespace {

long membarrier(int command) noexcept { return ::syscall(SYS_membarrier, command, 0, 0); }

bool has_barrier() noexcept {
  constexpr long needed = MEMBARRIER_CMD_PRIVATE_EXPEDITED | MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;
  const long offered = membarrier(MEMBARRIER_CMD_QUERY);
  return offered > 0 && (offered & needed) == needed;
}

} // namespace

sole_taker::sole_taker(bool alone) noexcept : others_(alone && has_barrier() ? none : come) {}

bool sole_taker::share() noexcept {
  if (shared()) return true;
  others_.store(asked, std::memory_order_relaxed); // S1
  interleave();
  const bool done = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0 &&
                    membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0; // S2
  if (!done) return false;
  while (inside_.load(std::memory_order_acquire)) ::sched_yield(); // S3, pairs: sole
  others_.store(come, std::memory_order_release);                  // S4, pairs: come
  return true;
}

} // namespace corewise::detail
