#pragma once

#include <corewise/engine/detail/awaiting.hpp>
#include <corewise/engine/detail/gate.hpp>

namespace corewise {

/// A number that goes down to 0, once; then all waiters go on. Waiting suspends the coroutine, never its
/// thread; a thread waits by `sync_wait`. When all waiters have gone on the latch may be destroyed, even
/// before the `count_down` that opened it has returned. 24 bytes.
class latch {
 public:
  static constexpr std::uint32_t largest = detail::gate::largest;

  /// Throws `std::invalid_argument` when the number is above `largest`.
  explicit latch(std::uint32_t expected) : gate_(detail::lock_word::checked(expected)) {}

  /// Counts down by `by`; at 0 the number stays there. Call from any thread. Cost: a compare-and-swap. The
  /// call that reaches 0 wakes the waiters: the first runs next on the calling worker, and the others go
  /// behind the tasks that wait there. If the caller is no worker of a coroutine's engine, that coroutine
  /// runs on its own worker.
  void count_down(std::uint32_t by = 1) noexcept { gate_.count(by); }
  /// Returns whether the number has reached 0. Call from any thread.
  bool try_wait() const noexcept { return gate_.open(); }
  /// `co_await l.wait()`: waits until the number is 0. Call from any coroutine; any number of them may wait.
  /// Cost: a load when it is open, else two locked instructions and a resumption; allocates nothing.
  auto wait() noexcept { return detail::awaiting<wait_kind::latch, detail::gate&>(gate_); }
  /// Acts as above, until `token` is told to stop. The await returns true when the number has reached 0,
  /// false when it was stopped.
  auto wait(std::stop_token token) noexcept {
    return detail::stoppable_awaiting<wait_kind::latch, detail::gate&>(std::move(token), gate_);
  }

 private:
  detail::gate gate_;
};

} // namespace corewise
