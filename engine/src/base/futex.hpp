#pragma once

#include <corewise/policies/detail/atomic.hpp>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdint>
#include <ctime>
#include <optional>

namespace corewise::detail {

/// Sleeps while `word` holds `expected`, at most `timeout`. May return early for no reason. Returns false if
/// the time ran out.
inline bool futex_wait(const atomic<std::uint32_t>& word, std::uint32_t expected,
                       std::optional<std::chrono::nanoseconds> timeout = {}) noexcept {
  step();
  timespec limit{};
  if (timeout) {
    limit.tv_sec = static_cast<std::time_t>(timeout->count() / 1'000'000'000);
    limit.tv_nsec = static_cast<long>(timeout->count() % 1'000'000'000);
  }
  const long result =
      ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, timeout ? &limit : nullptr, nullptr, 0);
  return result == 0 || errno != ETIMEDOUT;
}

inline void futex_wake(const atomic<std::uint32_t>& word, int threads) noexcept {
  step();
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, threads, nullptr, nullptr, 0);
}
inline void futex_wake_all(const atomic<std::uint32_t>& word) noexcept { futex_wake(word, INT_MAX); }

} // namespace corewise::detail
