
#include <corewise/engine/detail/permits.hpp>

#include <algorithm>

namespace corewise::detail {

bool permits::take_locked() noexcept {
  const lock_word::bits there = lock_word::number(word_.lock());
  unlock(there == 0 ? 0 : there - 1);
  return there != 0;
}

void permits::give_locked(lock_word::bits number, lock_word::bits most) noexcept {
  const lock_word::bits there = lock_word::number(word_.lock());
  lock_word::bits left = number;
  const woken next = waiters_.pop_some(left);
  unlock(sum(there, left, most));
  next.wake();
}

bool permits::clear() noexcept {
  const lock_word::bits there = lock_word::number(word_.lock());
  unlock(0);
  return there != 0;
}

bool permits::enter(waiter& w) noexcept {
  const lock_word::bits there = lock_word::number(word_.lock());
  if (w.state == wait_state::stopped) return unlock(there), false;
  if (there != 0 && w.part != nullptr) return unlock(there), false;
  if (there != 0) {
    w.state = wait_state::granted;
    return unlock(there - 1), false;
  }
  waiters_.push(w);
  return unlock(0), true;
}

bool permits::leave(waiter& w) noexcept {
  const lock_word::bits there = lock_word::number(word_.lock());
  const bool was_in = waiters_.stop(w);
  unlock(there);
  return was_in;
}

} // namespace corewise::detail
