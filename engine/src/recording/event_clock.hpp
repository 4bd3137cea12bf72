#pragma once

#include "base/clock.hpp"

#include <corewise/policies/detail/atomic.hpp>

#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

namespace corewise::detail {

/// The clock of events: the processor's counter, where all processors count alike; else the monotonic clock, which
/// takes three times as long. Source: Intel SDM vol. 3, 18.17.1 (invariant TSC); Arm ARM, CNTVCT_EL0.
class event_clock {
 public:
  static std::uint64_t now() noexcept {
#if defined(__x86_64__)
    if (counts_alike()) [[likely]]
      return __rdtsc();
#elif defined(__aarch64__)
    std::uint64_t ticks = 0;
    asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#endif
    return static_cast<std::uint64_t>(monotonic::now().time_since_epoch().count());
  }

  /// The two clocks at one moment.
  struct reading {
    std::uint64_t ticks = 0;
    std::int64_t monotonic_ns = 0;
  };
  static reading read() noexcept {
    const std::uint64_t before = now();
    const std::int64_t ns = monotonic::now().time_since_epoch().count();
    return {before + (now() - before) / 2, ns};
  }

 private:
#if defined(__x86_64__)
  static bool counts_alike() noexcept {
    static constinit atomic<signed char> known{
        -1}; // relaxed: the same for all; no lock, which a fork may find held
    signed char alike = known.load(std::memory_order_relaxed);
    if (alike < 0) [[unlikely]] {
      unsigned a = 0;
      unsigned b = 0;
      unsigned c = 0;
      unsigned d = 0;
      alike = __get_cpuid(0x8000'0007, &a, &b, &c, &d) != 0 && (d & (1U << 8)) != 0 ? 1 : 0;
      known.store(alike, std::memory_order_relaxed);
    }
    return alike != 0;
  }
#endif
};

} // namespace corewise::detail
