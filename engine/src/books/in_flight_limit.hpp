#pragma once

#include "base/futex.hpp"

#include <corewise/policies/detail/atomic.hpp>

namespace corewise::detail {

/// `limits.in_flight`: how many tasks may be in flight at once; 0 means no limit. An engine that begins
/// without a limit does not count, so that counting costs nothing, and cannot be given a limit later.
///
/// All threads share this one count: a limit that is never passed needs one.
///
/// Invariant: a waiter announces itself before it tries again, and a thread that makes room looks for waiters
/// afterwards. Both are seq_cst, so one of them sees the other.
///
/// | tag   | release site             | acquire site            | publishes           | weakened            |
/// |-------|--------------------------|-------------------------|---------------------|---------------------|
/// | limit | wait_and_admit: waiters_ | release: waiters_ load  | nothing; order only | a submitter waits,  |
/// |       | counted                  |                         | (seq_cst, all four) | though there is     |
/// |       | release: in_flight_      | admit: in_flight_ load, |                     | room                |
/// |       | fetch_sub                | CAS                     |                     |                     |
/// | room  | tell: fetch_add          | wait_and_admit: room_   | the room, the       | it sleeps after the |
/// |       |                          | load                    | limit, what `open`  | last wake-up for it |
/// |       |                          |                         | reads               |                     |
///
/// A waiter reads `room_` before the others. A later change of the others also changes `room_`, and then
/// `futex_wait` does not sleep.
class in_flight_limit {
 public:
  explicit in_flight_limit(std::uint64_t most) noexcept : counts_(most != 0), most_(most) {}

  bool counts() const noexcept { return counts_; }
  /// Sets another limit, or none. Only for an engine that counts. Call from any thread.
  void change(std::uint64_t most) noexcept {
    most_.store(most, std::memory_order_seq_cst); // pairs: room
    wake_all();
  }

  /// Admits a task. Returns false if the engine is full. Call from any thread.
  bool admit() noexcept {
    if (!counts_) return true;
    const std::uint64_t most = most_.load(std::memory_order_seq_cst); // pairs: room
    std::uint64_t now = in_flight_.load(std::memory_order_seq_cst);   // pairs: limit
    while (most == 0 || now < most) {
      if (in_flight_.compare_exchange_weak(now, now + 1, std::memory_order_seq_cst)) // pairs: limit
        return true;
    }
    return false;
  }

  /// Returns whether a task would be admitted now. Call from any thread.
  bool has_room() const noexcept {
    const std::uint64_t most = most_.load(std::memory_order_relaxed); // a number: `admit` decides
    return !counts_ || most == 0 || in_flight_.load(std::memory_order_relaxed) < most;
  }

  /// Admits a task, whether there is room or not: for a task that an admitted task waits for. Call from any
  /// thread.
  void admit_anyway() noexcept {
    if (counts_) in_flight_.fetch_add(1, std::memory_order_seq_cst); // pairs: limit
  }

  /// Waits for room while `open()`, and admits a task. Returns false if it is no longer open.
  template <class Open> bool wait_and_admit(const Open& open) noexcept {
    waiters_.fetch_add(1, std::memory_order_seq_cst); // pairs: limit
    bool admitted = false;
    for (;;) {
      const std::uint32_t seen = room_.load(std::memory_order_acquire); // pairs: room
      if (!open()) break;
      admitted = admit();
      if (admitted) break;
      futex_wait(room_, seen);
    }
    waiters_.fetch_sub(1, std::memory_order_relaxed); // at most one look too many
    return admitted;
  }

  /// Notes that an admitted task is gone. Call from any thread.
  void release() noexcept {
    if (!counts_) return;
    in_flight_.fetch_sub(1, std::memory_order_seq_cst);         // pairs: limit
    if (waiters_.load(std::memory_order_seq_cst) != 0) tell(1); // pairs: limit
  }

  /// Makes all waiters look at `open()` again.
  void wake_all() noexcept { tell(INT_MAX); }

 private:
  void tell(int threads) noexcept {
    room_.fetch_add(1, std::memory_order_release); // pairs: room
    futex_wake(room_, threads);
  }

  const bool counts_;
  atomic<std::uint64_t> most_;
  alignas(128) atomic<std::uint64_t> in_flight_{0};
  atomic<std::uint32_t> waiters_{0};
  atomic<std::uint32_t> room_{0};
};

} // namespace corewise::detail
