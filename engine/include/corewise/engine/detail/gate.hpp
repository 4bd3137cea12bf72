#pragma once

#include <corewise/engine/detail/lock_word.hpp>
#include <corewise/engine/detail/waiter_list.hpp>

namespace corewise::detail {

/// Opens for all waiters when a given number of things have happened: the basis of latch and event.
class gate {
 public:
  static constexpr bool enters_at_once = false;
  static constexpr lock_word::bits largest = lock_word::largest;

  explicit gate(lock_word::bits to_happen) noexcept : word_(to_happen) {}
  gate(const gate&) = delete;
  gate& operator=(const gate&) = delete;
  ~gate() { assert(waiters_.empty() && "destroyed while a coroutine waits for it"); }

  bool open() const noexcept { return lock_word::number(word_.look()) == 0; }
  /// Counts `happened` things, or as many as are left. A thread that opens the gate does not touch it after
  /// other threads see that.
  void count(lock_word::bits happened) noexcept {
    lock_word::bits seen = word_.look();
    while (!lock_word::locked(seen)) {
      const bool opens = lock_word::number(seen) <= happened;
      if (opens && lock_word::waited_for(seen)) break;
      const lock_word::bits left = opens ? 0 : lock_word::number(seen) - happened;
      if (word_.replace(seen, lock_word::of(left, lock_word::waited_for(seen)))) return;
    }
    count_locked(happened);
  }
  /// Closes the gate, if it is open, until `to_happen` things have happened.
  void close(lock_word::bits to_happen) noexcept;

  bool try_pass(const waiter&) const noexcept { return open(); }
  bool enter(waiter& w) noexcept;
  bool leave(waiter& w) noexcept;
  void give_back() const noexcept {}
  bool take_back(const waiter&) const noexcept { return false; } // it is open

 private:
  void count_locked(lock_word::bits happened) noexcept;
  void unlock(lock_word::bits left) noexcept { word_.unlock(lock_word::of(left, !waiters_.empty())); }

  lock_word word_;
  waiter_list waiters_;
};

} // namespace corewise::detail
