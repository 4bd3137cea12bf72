#pragma once

#include <corewise/engine/detail/awaiting.hpp>
#include <corewise/engine/detail/permits.hpp>

namespace corewise {

/// So many at a time, and the others wait in the order in which they came: a permit that is released goes to who has waited
/// longest, and nobody overtakes. Suspends coroutines, never their threads; a thread waits by `sync_wait`. When all who wait
/// have gone on it may be destroyed, even before the last `release` has returned. 24 bytes.
class semaphore {
 public:
  static constexpr std::uint32_t largest = detail::permits::largest;

  explicit semaphore(std::uint32_t number) noexcept : permits_(number) {}

  /// `co_await s.acquire()`. Any coroutine. Cost: a compare-and-swap when there is one, else two locked instructions and a
  /// resumption; allocates nothing.
  auto acquire() noexcept { return detail::awaiting<wait_kind::semaphore, detail::permits&>(permits_); }
  /// The same, until `token` is told to stop. Answers true with a permit, false without.
  auto acquire(std::stop_token token) noexcept {
    return detail::stoppable_awaiting<wait_kind::semaphore, detail::permits&>(std::move(token), permits_);
  }
  /// Whether there was one; it never waits. Any thread.
  [[nodiscard]] bool try_acquire() noexcept { return permits_.try_take(); }
  /// Any thread, also one that acquired nothing. The first of those who get one runs next on the calling worker, others behind
  /// what waits there, or on their own when the caller is no worker of their engine. At most `largest` at a time.
  void release(std::uint32_t number = 1) noexcept { permits_.give(number); }
  /// How many there are at the moment. Any thread.
  std::uint32_t available() const noexcept { return permits_.number(); }

 private:
  detail::permits permits_;
};

} // namespace corewise
