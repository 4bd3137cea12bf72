#pragma once

#include <corewise/engine/detail/awaiting.hpp>
#include <corewise/engine/detail/lock_word.hpp>

#include <stdexcept>

namespace corewise {

namespace detail {

/// A point at which all members arrive before any member goes on, again and again.
class meeting {
 public:
  static constexpr bool enters_at_once = true;

  explicit meeting(lock_word::bits members) noexcept : word_(members), members_(members) {}
  meeting(const meeting&) = delete;
  meeting& operator=(const meeting&) = delete;
  ~meeting() { assert(waiters_.empty() && "destroyed while a coroutine waits for it"); }

  /// Removes one member, from this phase on.
  void drop() noexcept;

  bool try_pass(const waiter&) const noexcept { return false; }
  bool enter(waiter& w) noexcept;
  bool leave(waiter& w) noexcept;
  void give_back() const noexcept {}
  bool take_back(const waiter&) const noexcept { return false; } // all have met

 private:
  woken come(lock_word::bits missing) noexcept;

  lock_word word_; // how many members have not arrived yet in this phase
  lock_word::bits members_;
  waiter_list waiters_;
};

} // namespace detail

/// Lets coroutines wait for each other: a coroutine that arrives waits until all `expected` have arrived.
/// Then all go on, and the next phase begins. Waiting suspends the coroutine, never its thread; a thread
/// takes part by `sync_wait`. The barrier may be destroyed when all waiters have gone on. 24 bytes.
class barrier {
 public:
  static constexpr std::uint32_t largest = detail::lock_word::largest;

  /// Throws `std::invalid_argument` when the number is 0 or above `largest`.
  explicit barrier(std::uint32_t expected) : meeting_(detail::lock_word::checked(expected)) {
    if (expected == 0) throw std::invalid_argument("a barrier of 0 members would let none go on");
  }

  /// `co_await b.arrive_and_wait()`: arrives, and waits until all expected coroutines have arrived. Call from
  /// any coroutine, one for each that is expected. The last one is not suspended. Of the others, the first to
  /// arrive runs next on the last one's worker, and the rest go behind the tasks that wait there. Cost: two
  /// locked instructions and a resumption; allocates nothing.
  auto arrive_and_wait() noexcept { return detail::awaiting<wait_kind::barrier, detail::meeting&>(meeting_); }
  /// Acts as above, until `token` is told to stop. The await returns true when all have arrived, and false
  /// when it was stopped. A stopped coroutine has not arrived, and the others wait until it arrives or drops
  /// out.
  auto arrive_and_wait(std::stop_token token) noexcept {
    return detail::stoppable_awaiting<wait_kind::barrier, detail::meeting&>(std::move(token), meeting_);
  }
  /// Arrives for good: this phase does not wait for the caller, and from the next phase on one less is
  /// expected. Call from any thread.
  void arrive_and_drop() noexcept { meeting_.drop(); }

 private:
  detail::meeting meeting_;
};

} // namespace corewise
