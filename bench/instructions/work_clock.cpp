#include "work_clock.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <ctime>

namespace {

constexpr std::int64_t operation_ns = 100;
constexpr std::int64_t second_ns = 1'000'000'000;

std::atomic<std::int64_t> now_ns{3600 * second_ns}; // relaxed: a number

} // namespace

namespace corewise::bench {

void pass_operation() noexcept {
  now_ns.store(now_ns.load(std::memory_order_relaxed) + operation_ns, std::memory_order_relaxed);
}

} // namespace corewise::bench

/// Replaces the C library's function, which std::chrono::steady_clock calls.
extern "C" int clock_gettime(clockid_t clock, timespec* t) noexcept {
  if (clock != CLOCK_MONOTONIC) return static_cast<int>(::syscall(SYS_clock_gettime, clock, t));
  const std::int64_t now = now_ns.load(std::memory_order_relaxed);
  t->tv_sec = static_cast<std::time_t>(now / second_ns);
  t->tv_nsec = static_cast<long>(now % second_ns);
  return 0;
}
