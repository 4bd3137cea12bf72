#pragma once

#include "base/clock.hpp"
#include "base/futex.hpp"

#include <corewise/policies/detail/atomic.hpp>

namespace corewise::detail {

/// Puts one worker to sleep until another thread leaves a token. Invariant: a token that is left early is
/// kept, so no wake-up is lost; two tokens count as one.
///
///     empty ──park──► parked ──unpark──► notified ──(woken)──► empty
///       └──────────unpark──────────────────▲
///
/// | tag   | release site     | acquire site        | publishes              | weakened                |
/// |-------|------------------|---------------------|------------------------|-------------------------|
/// | token | unpark: exchange | park: exchange, CAS | all that the waker did | the woken worker misses |
/// |       |                  |                     | before                 | the task                |
class parker {
 public:
  /// Sleeps until a token is there. Returns whether one was there or came; false if `timeout` passed without
  /// one. Owner only.
  [[gnu::hot]] bool park(std::optional<std::chrono::nanoseconds> timeout) noexcept {
    std::uint32_t expected = empty;
    if (!state_.compare_exchange_strong(expected, parked, std::memory_order_acq_rel, // pairs: token
                                        std::memory_order_acquire)) {
      state_.exchange(empty, std::memory_order_acquire); // pairs: token
      return true;
    }
    const auto until = monotonic::now() + timeout.value_or(std::chrono::nanoseconds{0});
    std::optional<std::chrono::nanoseconds> left = timeout;
    for (;;) {
      const bool in_time = futex_wait(state_, parked, left);
      if (state_.load(std::memory_order_acquire) == notified || !in_time) break; // pairs: token
      if (timeout) left = std::max(until - monotonic::now(), std::chrono::nanoseconds{1});
    }
    return state_.exchange(empty, std::memory_order_acq_rel) == notified; // pairs: token
  }

  /// Leaves a token. Call from any thread. Cost: a system call if the owner sleeps.
  void unpark() noexcept {
    if (state_.exchange(notified, std::memory_order_acq_rel) == parked) futex_wake(state_, 1); // pairs: token
  }

  /// Returns whether the owner sleeps here, or is about to. Call from any thread.
  bool occupied() const noexcept { return state_.load(std::memory_order_relaxed) == parked; }

 private:
  enum : std::uint32_t { empty, parked, notified }; // 3 is reserved: asleep in a driver (design.md, D16)
  atomic<std::uint32_t> state_{empty};
};

} // namespace corewise::detail
