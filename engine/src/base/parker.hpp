#pragma once

#include "base/clock.hpp"
#include "base/futex.hpp"

#include <corewise/engine/driver.hpp>
#include <corewise/policies/detail/atomic.hpp>

namespace corewise::detail {

/// Puts one worker to sleep until another thread leaves a token. Invariant: a token that is left early is
/// kept, so no wake-up is lost; two tokens count as one.
///
///     empty ──park────► parked ────unpark──► notified ──(woken)──► empty
///       ├─────park_in─► in_driver ─unpark──────▲
///       └──────────unpark──────────────────────┘
///
/// A waker of a worker that sleeps in a driver leaves the token before it interrupts the driver. So a worker
/// that the interrupt does not reach, because it has left the driver, finds the token.
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

  /// Sleeps in a driver, which the caller holds, until a token is there, an event has come, or `timeout` has
  /// passed; may end early. Returns whether a token was there or came. Owner only.
  bool park_in(driver& bed, std::optional<std::chrono::nanoseconds> timeout, ready_tasks& found) noexcept {
    driver_.store(&bed, std::memory_order_relaxed); // published by the state
    std::uint32_t expected = empty;
    if (state_.compare_exchange_strong(expected, in_driver, std::memory_order_acq_rel, // pairs: token
                                       std::memory_order_acquire))
      bed.sleep(timeout, found);
    return state_.exchange(empty, std::memory_order_acq_rel) == notified; // pairs: token
  }

  /// Leaves a token. Call from any thread. Cost: a system call if the owner sleeps.
  void unpark() noexcept {
    const std::uint32_t before = state_.exchange(notified, std::memory_order_acq_rel); // pairs: token
    if (before == parked) futex_wake(state_, 1);
    if (before == in_driver) [[unlikely]]
      driver_.load(std::memory_order_relaxed)->interrupt();
  }

  /// Returns whether the owner sleeps here, or is about to. Call from any thread.
  bool occupied() const noexcept {
    const std::uint32_t now = state_.load(std::memory_order_relaxed);
    return now == parked || now == in_driver;
  }
  /// Returns whether it sleeps in a driver, or is about to. Call from any thread.
  bool occupies_driver() const noexcept { return state_.load(std::memory_order_relaxed) == in_driver; }

 private:
  enum : std::uint32_t { empty, parked, notified, in_driver };
  atomic<std::uint32_t> state_{empty};
  atomic<driver*> driver_{nullptr}; // in which it slept last
};

} // namespace corewise::detail
