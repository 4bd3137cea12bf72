
#include <corewise/engine/barrier.hpp>

namespace corewise::detail {

/// Notes an arrival, which `missing` still counts, and unlocks the word. Returns the waiters that go on
/// because of it.
woken meeting::come(lock_word::bits missing) noexcept {
  const bool last = missing == 1;
  const woken all = last ? waiters_.pop_all() : woken();
  word_.unlock(lock_word::of(last ? members_ : missing - 1, false));
  return all;
}

void meeting::drop() noexcept {
  const lock_word::bits missing = lock_word::number(word_.lock());
  assert(missing != 0 && "more members drop out than the barrier has");
  --members_;
  come(missing).wake();
}

bool meeting::enter(waiter& w) noexcept {
  const lock_word::bits missing = lock_word::number(word_.lock());
  assert(missing != 0 && "all members have dropped out");
  if (w.state == wait_state::stopped) return word_.unlock(lock_word::of(missing, false)), false;
  if (missing != 1) return waiters_.push(w), come(missing), true;
  w.state = wait_state::granted;
  come(missing).wake();
  return false;
}

bool meeting::leave(waiter& w) noexcept {
  const lock_word::bits missing = lock_word::number(word_.lock());
  const bool was_in = waiters_.stop(w);
  word_.unlock(lock_word::of(was_in ? missing + 1 : missing, false));
  return was_in;
}

} // namespace corewise::detail
