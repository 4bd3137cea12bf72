#include "base/parker.hpp"
#include "base/process_fork.hpp"

#include <corewise/engine/blocking_full.hpp>
#include <corewise/engine/detail/blocking_limit.hpp>

#include <chrono>
#include <mutex>
#include <utility>

namespace corewise::detail {

namespace {

/// A permit that no coroutine has begun to use for so long is a waiting thread's. Less would wake waiting
/// threads often, more would let an engine stand still for longer when all its workers wait for permits.
constexpr std::chrono::milliseconds unused_for{10};

/// As large as its alignment: glibc takes the thread-local memory of a module back only where its size is a multiple of its
/// alignment, and has too little for the next module otherwise.
struct alignas(8) unlimited_mark {
  bool set = false;
};
constinit thread_local unlimited_mark thread_is_unlimited;

} // namespace

bool set_unlimited(bool unlimited) noexcept { return std::exchange(thread_is_unlimited.set, unlimited); }

bool is_unlimited() noexcept { return thread_is_unlimited.set; }

unlimited_calls::unlimited_calls() noexcept : before_(set_unlimited(true)) {}

unlimited_calls::~unlimited_calls() { set_unlimited(before_); }

/// A thread that waits for a permit. It belongs to no root, and that tells it from a coroutine.
struct blocking_limit::sleeper : waiter {
  explicit sleeper(bool refusable) noexcept : may_be_refused(refusable) {}

  parker bed;
  const bool may_be_refused;
};

blocking_limit::blocking_limit(const profile& p) noexcept : process_(process_number()) { set(p); }

/// Returns whether this is a child of the process that made the limit: the lock may be held for ever.
bool blocking_limit::of_parent() const noexcept { return process_ != process_number(); }

void blocking_limit::set(const profile& p) noexcept {
  most_.store(p.blocking.max_concurrent, std::memory_order_relaxed);
  on_full_ = p.blocking.on_full;
}

void blocking_limit::change(const profile& p) noexcept {
  waiter* next = nullptr;
  waiter* refused = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    set(p);
    next = serve();
    refused = refuse();
  }
  wake(next);
  wake(refused);
}

// --- with the lock held

bool blocking_limit::has_room() const noexcept {
  const std::uint32_t most = most_.load(std::memory_order_relaxed);
  return most == 0 || counts_.running + called_ < most;
}

bool blocking_limit::take_free() noexcept {
  if (!has_room()) return false;
  ++counts_.running;
  return true;
}

void blocking_limit::push(waiter& w) noexcept {
  waiters_.push(w);
  ++counts_.waiting;
  ++counts_.waited;
}

/// Passes free permits to the first waiters. Returns the first of these; `wake` wakes them without the lock.
waiter* blocking_limit::serve() noexcept {
  waiter* first = nullptr;
  waiter** end = &first;
  while (has_room()) {
    waiter* const w = waiters_.pop();
    if (w == nullptr) break;
    --counts_.waiting;
    ++(w->root == nullptr ? counts_.running : called_);
    *end = w;
    end = &w->after;
  }
  return first;
}

/// Takes the plain calls that wait out of the list, where calls in excess are refused. Returns the first of
/// them; `wake` wakes them without the lock.
waiter* blocking_limit::refuse() noexcept {
  if (on_full_ == excess_action::wait) return nullptr;
  waiter* const first = waiters_.pop_each_if(
      [](const waiter& w) { return w.root == nullptr && static_cast<const sleeper&>(w).may_be_refused; },
      wait_state::stopped);
  for (const waiter* w = first; w != nullptr; w = w->after) {
    --counts_.waiting;
    ++counts_.refused;
  }
  return first;
}

/// Passes a permit of a coroutine that was called up to the first waiting thread, if no coroutine has begun
/// since the caller looked `before`. Returns that thread, or null.
waiter* blocking_limit::take_over(sight& before) noexcept {
  waiter* w = nullptr;
  if (called_ != 0 && before.any_called && before.begun == begun_)
    w = waiters_.pop_if([](const waiter& other) { return other.root == nullptr; });
  if (w != nullptr) {
    --called_;
    --counts_.waiting;
    ++counts_.running;
  }
  before = {.any_called = called_ != 0, .begun = begun_};
  return w;
}

// --- without it

void blocking_limit::wake(waiter* first) noexcept {
  while (first != nullptr) {
    waiter& w = *std::exchange(first, first->after);
    if (w.root == nullptr)
      static_cast<sleeper&>(w).bed.unpark();
    else
      w.wake_behind();
  }
}

bool blocking_limit::try_take() noexcept {
  const std::scoped_lock lock(mutex_);
  return take_free();
}

bool blocking_limit::try_take_or_throw() {
  const std::scoped_lock lock(mutex_);
  if (take_free()) return true;
  if (on_full_ == excess_action::wait) return false;
  ++counts_.refused;
  throw blocking_full();
}

/// Returns whether it took a permit.
bool blocking_limit::wait_as(bool may_be_refused) noexcept {
  sleeper me(may_be_refused);
  sight seen;
  {
    const std::scoped_lock lock(mutex_);
    if (take_free()) return true;
    if (may_be_refused && on_full_ == excess_action::refuse)
      return ++counts_.refused, false; // since it asked
    push(me);
    seen = {.any_called = called_ != 0, .begun = begun_};
  }
  while (!me.bed.park(unused_for)) {
    waiter* served = nullptr;
    {
      const std::scoped_lock lock(mutex_);
      served = take_over(seen);
    }
    wake(served); // perhaps this thread
  }
  return me.state != wait_state::stopped;
}

void blocking_limit::give() noexcept {
  if (of_parent()) return;
  waiter* next = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    --counts_.running;
    next = serve();
  }
  wake(next);
}

bool blocking_limit::enter(waiter& w) noexcept {
  const std::scoped_lock lock(mutex_);
  if (w.state == wait_state::stopped) return false;
  if (take_free()) {
    w.state = wait_state::taken;
    return false;
  }
  push(w);
  return true;
}

bool blocking_limit::leave(waiter& w) noexcept {
  if (of_parent()) return false;
  const std::scoped_lock lock(mutex_);
  const bool was_in = waiters_.stop(w);
  if (was_in) --counts_.waiting;
  return was_in;
}

wait_state blocking_limit::begin(waiter& w, const std::stop_token& until) noexcept {
  const std::scoped_lock lock(mutex_);
  if (called_ != 0) {
    --called_;
    ++counts_.running;
  } else if (!take_free()) {
    if (until.stop_requested())
      return w.state = wait_state::stopped; // `leave` found it called up, or will find this
    waiters_.push_front(w);
    ++counts_.waiting;
    return wait_state::queued;
  }
  ++begun_;
  return wait_state::taken;
}

void blocking_limit::give_back() noexcept {
  if (of_parent()) return;
  waiter* next = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    if (called_ == 0) return; // a thread has taken it over
    --called_;
    next = serve();
  }
  wake(next);
}

blocking_limit::counts blocking_limit::count() const noexcept {
  const std::scoped_lock lock(mutex_);
  return counts_;
}

} // namespace corewise::detail
