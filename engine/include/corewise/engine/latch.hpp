#pragma once

#include <corewise/engine/detail/awaiting.hpp>
#include <corewise/engine/detail/gate.hpp>

namespace corewise {

/// Goes down to 0, once, and all who wait go on. Suspends coroutines, never their threads; a thread waits by `sync_wait`. When
/// all who wait have gone on it may be destroyed, even before the `count_down` that opened it has returned. 24 bytes.
class latch {
 public:
  static constexpr std::uint32_t largest = detail::gate::largest;

  explicit latch(std::uint32_t expected) noexcept : gate_(expected) {}

  /// By so many; at 0 it stays there. Any thread. Cost: a compare-and-swap; the one that reaches 0 wakes those who wait: the
  /// first runs next on the calling worker, the others behind what waits there, or on their own when the caller is no worker
  /// of their engine.
  void count_down(std::uint32_t by = 1) noexcept { gate_.count(by); }
  /// Whether it has reached 0. Any thread.
  bool try_wait() const noexcept { return gate_.open(); }
  /// `co_await l.wait()`. Any coroutine, any number of them. Cost: a load when it is open, else two locked instructions and a
  /// resumption; allocates nothing.
  auto wait() noexcept { return detail::awaiting<wait_kind::latch, detail::gate&>(gate_); }
  /// The same, until `token` is told to stop. Answers true when it has reached 0, false when it was stopped.
  auto wait(std::stop_token token) noexcept {
    return detail::stoppable_awaiting<wait_kind::latch, detail::gate&>(std::move(token), gate_);
  }

 private:
  detail::gate gate_;
};

} // namespace corewise
