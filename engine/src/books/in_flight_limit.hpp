#pragma once

#include "base/faults.hpp"
#include "base/futex.hpp"

namespace corewise::detail {

/// `limits.in_flight`: how many tasks may be in flight at once; 0 is no limit. An engine that begins without one does not
/// count, so that it costs nothing, and cannot be given one later.
///
/// The one count that all threads share: a limit that is never passed needs one. Who waits for room announces
/// itself before it tries again, and who makes room looks for waiters after; both are seq_cst, so one of them
/// sees the other.
///
/// | tag   | release site                     | acquire site                | publishes            | weakened             |
/// |-------|----------------------------------|-----------------------------|----------------------|----------------------|
/// | limit | wait_and_enter: waiters_ counted | release: waiters_ load      | nothing; order only  | somebody waits       |
/// |       | release: in_flight_ fetch_sub    | enter: in_flight_ load, CAS | (seq_cst, all four)  | beside room          |
/// | room  | tell: fetch_add                  | wait_and_enter: room_ load  | the room, the limit, | it sleeps after the  |
/// |       |                                  |                             | what `open` reads    | word that is for it  |
///
/// `room_` is read before the others: what changes after that changes it too, and then `futex_wait` does not sleep.
class in_flight_limit {
 public:
  explicit in_flight_limit(std::uint64_t most) noexcept : counts_(most != 0), most_(most) {}

  bool counts() const noexcept { return counts_; }
  /// Another limit, or none, for one that counts. Any thread.
  void change(std::uint64_t most) noexcept {
    most_.store(most, std::memory_order_seq_cst); // pairs: room
    interleave();
    wake_all();
  }

  /// Any thread. False: full.
  bool enter() noexcept {
    if (!counts_) return true;
    const std::uint64_t most = most_.load(std::memory_order_seq_cst); // pairs: room
    std::uint64_t now = in_flight_.load(std::memory_order_seq_cst);   // pairs: limit
    while (most == 0 || now < most) {
      interleave();
      if (in_flight_.compare_exchange_weak(now, now + 1, std::memory_order_seq_cst)) // pairs: limit
        return true;
    }
    return false;
  }

  /// As above, whether there is room or not: for what a task that has entered waits for.
  void enter_anyway() noexcept {
    if (counts_) in_flight_.fetch_add(1, std::memory_order_seq_cst); // pairs: limit
  }

  /// Waits for room while `open()`. False: no longer open.
  template <class Open> bool wait_and_enter(const Open& open) noexcept {
    waiters_.fetch_add(1, std::memory_order_seq_cst); // pairs: limit
    bool entered = false;
    for (;;) {
      const std::uint32_t seen = room_.load(std::memory_order_acquire); // pairs: room
      interleave();
      if (!open()) break;
      entered = enter();
      if (entered) break;
      interleave();
      futex_wait(room_, seen);
    }
    waiters_.fetch_sub(1, std::memory_order_relaxed); // one look too many at most
    return entered;
  }

  /// Any thread: an entered task is gone.
  void release() noexcept {
    if (!counts_) return;
    in_flight_.fetch_sub(1, std::memory_order_seq_cst); // pairs: limit
    interleave();
    if (waiters_.load(std::memory_order_seq_cst) != 0) tell(1); // pairs: limit
  }

  /// Everybody who waits looks at `open()` again.
  void wake_all() noexcept { tell(INT_MAX); }

 private:
  void tell(int threads) noexcept {
    room_.fetch_add(1, std::memory_order_release); // pairs: room
    interleave();
    futex_wake(room_, threads);
  }

  const bool counts_;
  std::atomic<std::uint64_t> most_;
  alignas(128) std::atomic<std::uint64_t> in_flight_{0};
  std::atomic<std::uint32_t> waiters_{0};
  std::atomic<std::uint32_t> room_{0};
};

} // namespace corewise::detail
