#pragma once

#include <corewise/engine/detail/awaiting.hpp>
#include <corewise/engine/detail/permits.hpp>

namespace corewise {

/// Lets a number of coroutines in at a time. The others wait in the order in which they came: a released
/// permit goes to the one that has waited longest, and none overtakes. Waiting suspends the coroutine, never
/// its thread; a thread waits by `sync_wait`. When all waiters have gone on the semaphore may be destroyed,
/// even before the last `release` has returned. 24 bytes.
class semaphore {
 public:
  static constexpr std::uint32_t largest = detail::permits::largest;

  /// Throws `std::invalid_argument` when the number is above `largest`.
  explicit semaphore(std::uint32_t number) : permits_(detail::lock_word::checked(number)) {}

  /// `co_await s.acquire()`: takes a permit. Call from any coroutine. Cost: a compare-and-swap when there is
  /// a permit, else two locked instructions and a resumption; allocates nothing.
  auto acquire() noexcept { return detail::awaiting<wait_kind::semaphore, detail::permits&>(permits_); }
  /// Acts as above, until `token` is told to stop. The await returns true with a permit, false without. A
  /// coroutine that was granted a permit, and is told to stop before it goes on, gives the permit to the
  /// next.
  auto acquire(std::stop_token token) noexcept {
    return detail::stoppable_awaiting<wait_kind::semaphore, detail::permits&>(std::move(token), permits_);
  }
  /// Takes a permit if there is one, and never waits. Returns whether it did. Call from any thread.
  [[nodiscard]] bool try_acquire() noexcept { return permits_.try_take(); }
  /// Releases permits. The first coroutine that gets one runs next on the calling worker, and the others go
  /// behind the tasks that wait there. If the caller is no worker of a coroutine's engine, that coroutine
  /// runs on its own worker. Above `largest` permits there are `largest`. Call from any thread, also from
  /// one that acquired nothing.
  void release(std::uint32_t number = 1) noexcept { permits_.give(number); }
  /// Returns how many permits there are at the moment. Call from any thread.
  std::uint32_t available() const noexcept { return permits_.number(); }

 private:
  detail::permits permits_;
};

} // namespace corewise
