#pragma once

#include <corewise/engine/detail/awaiting.hpp>
#include <corewise/engine/detail/lock_word.hpp>

namespace corewise {

namespace detail {

/// Where all members come before any goes on, again and again.
class meeting {
 public:
  static constexpr bool enters_at_once = true;

  explicit meeting(lock_word::bits members) noexcept : word_(members), members_(members) {}
  meeting(const meeting&) = delete;
  meeting& operator=(const meeting&) = delete;
  ~meeting() { assert(waiters_.empty() && "destroyed while somebody waits for it"); }

  /// One member less, from this phase on.
  void drop() noexcept;

  bool try_pass(const waiter&) const noexcept { return false; }
  bool enter(waiter& w) noexcept;
  bool leave(waiter& w) noexcept;
  void give_back() const noexcept {}

 private:
  woken come(lock_word::bits missing) noexcept;

  lock_word word_; // how many are still to come in this phase
  lock_word::bits members_;
  waiter_list waiters_;
};

} // namespace detail

/// Coroutines that wait for each other: who arrives waits until all `expected` have arrived, then all go on, and the next
/// phase begins. Suspends coroutines, never their threads; a thread takes part by `sync_wait`. When all who wait have gone on it
/// may be destroyed. 24 bytes.
class barrier {
 public:
  static constexpr std::uint32_t largest = detail::lock_word::largest;

  explicit barrier(std::uint32_t expected) noexcept : meeting_(expected) {}

  /// `co_await b.arrive_and_wait()`. Any coroutine, one for each that is expected. The last one is not suspended; of the others
  /// the first to arrive runs next on its worker, the rest behind what waits there. Cost: two locked instructions and a
  /// resumption; allocates nothing.
  auto arrive_and_wait() noexcept { return detail::awaiting<wait_kind::barrier, detail::meeting&>(meeting_); }
  /// The same, until `token` is told to stop. Answers true when all have arrived; false when it was stopped: then it has not
  /// arrived, and the others wait until it does, or drops out.
  auto arrive_and_wait(std::stop_token token) noexcept {
    return detail::stoppable_awaiting<wait_kind::barrier, detail::meeting&>(std::move(token), meeting_);
  }
  /// Arrives for good: this phase does not wait for it, and from the next on one less is expected. Any thread.
  void arrive_and_drop() noexcept { meeting_.drop(); }

 private:
  detail::meeting meeting_;
};

} // namespace corewise
