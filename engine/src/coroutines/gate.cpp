
#include <corewise/engine/detail/gate.hpp>

namespace corewise::detail {

void gate::count_locked(lock_word::bits happened) noexcept {
  const lock_word::bits to_happen = lock_word::number(word_.lock());
  const lock_word::bits left = to_happen > happened ? to_happen - happened : 0;
  const woken all = left == 0 ? waiters_.pop_all() : woken();
  unlock(left);
  all.wake();
}

void gate::close(lock_word::bits to_happen) noexcept {
  const lock_word::bits left = lock_word::number(word_.lock());
  unlock(left == 0 ? to_happen : left);
}

bool gate::enter(waiter& w) noexcept {
  const lock_word::bits left = lock_word::number(word_.lock());
  const bool waits = left != 0 && w.state != wait_state::stopped;
  if (waits)
    waiters_.push(w);
  else if (left == 0 && w.part == nullptr)
    w.state = wait_state::granted;
  unlock(left);
  return waits;
}

bool gate::leave(waiter& w) noexcept {
  const lock_word::bits left = lock_word::number(word_.lock());
  const bool was_in = waiters_.stop(w);
  unlock(left);
  return was_in;
}

} // namespace corewise::detail
