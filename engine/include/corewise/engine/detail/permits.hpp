#pragma once

#include <corewise/engine/detail/lock_word.hpp>
#include <corewise/engine/detail/waiter_list.hpp>

namespace corewise::detail {

/// A number of permits, and the waiters for them: the basis of semaphore, mutex and auto_reset_event.
/// Invariant: while a coroutine waits there are no permits. A thread that gives a permit passes it to the
/// first waiter, so none overtakes.
class permits {
 public:
  static constexpr bool enters_at_once = false;
  static constexpr lock_word::bits largest = lock_word::largest;

  /// Above `most` permits none is given back, since another may have been given meanwhile.
  explicit permits(lock_word::bits number, lock_word::bits most = largest) noexcept
      : word_(number),
        most_(most) {}
  permits(const permits&) = delete;
  permits& operator=(const permits&) = delete;
  ~permits() { assert(waiters_.empty() && "destroyed while a coroutine waits for it"); }

  bool try_take() noexcept {
    lock_word::bits seen = word_.look();
    while (lock_word::number(seen) != 0) {
      if (lock_word::locked(seen)) [[unlikely]]
        return take_locked();
      if (word_.replace(seen, lock_word::of(lock_word::number(seen) - 1, false))) return true;
    }
    return false;
  }
  /// Adds `number` permits, but no more than `most` in all.
  void give(lock_word::bits number, lock_word::bits most = largest) noexcept {
    lock_word::bits seen = word_.look();
    while (lock_word::idle(seen))
      if (word_.replace(seen, lock_word::of(sum(lock_word::number(seen), number, most), false))) return;
    give_locked(number, most);
  }
  /// Takes all permits away. Returns whether there were any.
  bool clear() noexcept;
  /// Returns how many permits there are at the moment.
  lock_word::bits number() const noexcept { return lock_word::number(word_.look()); }

  bool try_pass(const waiter&) noexcept { return try_take(); }
  bool enter(waiter& w) noexcept;
  bool leave(waiter& w) noexcept;
  void give_back() noexcept { give(1, most_); }
  bool take_back(const waiter&) noexcept { return give_back(), true; }

 private:
  static lock_word::bits sum(lock_word::bits there, lock_word::bits more, lock_word::bits most) noexcept {
    return more < most - there ? there + more : most;
  }
  bool take_locked() noexcept;
  void give_locked(lock_word::bits number, lock_word::bits most) noexcept;
  void unlock(lock_word::bits number) noexcept { word_.unlock(lock_word::of(number, !waiters_.empty())); }

  lock_word word_;
  const lock_word::bits most_; ///< of what is given back
  waiter_list waiters_;
};

} // namespace corewise::detail
