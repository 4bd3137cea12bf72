#pragma once

#include <corewise/policies/detail/atomic.hpp>

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <type_traits>

// How a thread waits for the same things as coroutines. Its awaiter stands in the same list as theirs, on the
// thread's stack. In the place of the suspended coroutine stands one whose only step is to wake the thread;
// its frame is on that stack as well. This coroutine belongs to no engine, so the waker runs its step at
// once.
//
// Invariant: the thread goes on only after the waking step is suspended for good.
//
//     thread's stack   [ awaiter ─► frame of the waking step │ woken ]
//
// | tag   | release site            | acquire site  | publishes                  | weakened              |
// |-------|-------------------------|---------------|----------------------------|-----------------------|
// | awake | the waking step: woken_ | sleep: woken_ | the result, and that the   | a frame goes while it |
// |       |                         |               | step is suspended for good | runs                  |

namespace corewise {

template <class T> class task;

namespace detail {

struct coroutine_root;

/// An awaiter that a thread may await: waking it needs no engine. `A` says so.
template <class A>
concept thread_awaiter = requires(std::remove_cvref_t<A>& a, std::coroutine_handle<> h) {
  typename std::remove_cvref_t<A>::threads_may_wait;
  { a.await_suspend(h) } -> std::same_as<bool>;
};

/// Throws `std::logic_error` in a coroutine that has a worker.
void check_may_sleep();

/// The calling thread, which another thread will wake. Lives on the calling thread's stack. While it lives
/// the thread runs no coroutine, so an awaiter that suspends here belongs to no engine.
class sleeping_thread {
 public:
  sleeping_thread();
  sleeping_thread(const sleeping_thread&) = delete;
  sleeping_thread& operator=(const sleeping_thread&) = delete;
  ~sleeping_thread();

  /// Returns the coroutine that wakes the thread when it is resumed: once, by any thread.
  std::coroutine_handle<> waking() const noexcept { return waking_; }
  /// Sleeps until the thread is woken. On a worker the seat is lent meanwhile.
  void sleep() noexcept;

 private:
  struct step;
  static constexpr std::size_t room_for_step = 128; // GCC 12 and Clang 19 need less than that

  alignas(std::max_align_t) std::byte room_[room_for_step];
  detail::atomic<std::uint32_t> woken_{0};
  const std::coroutine_handle<> waking_;
  coroutine_root* const root_; // the coroutine that the thread ran before
};

} // namespace detail

/// `sync_wait(e.wait())`, `auto lock = sync_wait(m.lock())`, `auto v = sync_wait(c.receive(token))`: makes
/// the calling thread wait where a coroutine would `co_await`, and returns the same result. It takes the
/// waits of `event`, `auto_reset_event`, `semaphore`, `mutex`, `latch`, `barrier`, `channel` and `oneshot`,
/// with a stop token or without. Threads and coroutines wait in one list, and are served in the order in
/// which they came.
///
/// Call from any thread. A plain task sleeps within `blocking`: a spare thread takes its worker's seat, if
/// there is one. (`future::get` refuses there: its work may be queued on that very worker, and a
/// `blocking_scope` would run it. But a coroutine that will unlock a mutex mostly runs already, and a plain
/// task has no other way to wait for the mutex.) In a coroutine that has a worker it throws
/// `std::logic_error`: the coroutine can `co_await`, or wait within `blocking`. Cost: that of the awaited
/// operation if it need not wait; else a thread sleeps and is woken, 5-50 us. Allocates nothing. The name is
/// that of P2300.
template <detail::thread_awaiter A> auto sync_wait(A&& awaited) -> decltype(awaited.await_resume()) {
  detail::check_may_sleep();
  if (!awaited.await_ready()) {
    detail::sleeping_thread here;
    if (awaited.await_suspend(here.waking())) here.sleep();
  }
  return awaited.await_resume();
}

/// Deleted: a coroutine runs on an engine, by `sync_wait(engine, task)`.
template <class T> void sync_wait(task<T> needs_an_engine) = delete;

} // namespace corewise
