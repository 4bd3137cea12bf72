#pragma once

#include <atomic>
#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <type_traits>

// How a thread waits for what coroutines wait for. Its awaiter stands in the same list as theirs, on the thread's stack, and
// in the place of the suspended coroutine there is one whose only step is to wake the thread. Its frame is on that stack
// as well. It belongs to no engine, so whoever wakes it runs that step at once.
//
//     thread's stack   [ awaiter ─► frame of the waking step │ woken ]
//
// | tag   | release site            | acquire site  | publishes                                                   | weakened                   |
// |-------|-------------------------|---------------|-------------------------------------------------------------|----------------------------|
// | awake | the waking step: woken_ | sleep: woken_ | what it waited for, and that the step is suspended for good | a frame goes while it runs |

namespace corewise {

template <class T> class task;

namespace detail {

struct coroutine_root;

/// What a thread may await: who wakes it needs no engine for that. `A` says so.
template <class A>
concept thread_awaiter = requires(std::remove_cvref_t<A>& a, std::coroutine_handle<> h) {
  typename std::remove_cvref_t<A>::threads_may_wait;
  { a.await_suspend(h) } -> std::same_as<bool>;
};

/// Throws `std::logic_error` in a coroutine that has a worker.
void check_may_sleep();

/// The calling thread, which something else will wake. Lives on its stack. While it lives the thread runs no coroutine, so that
/// whoever suspends here belongs to no engine.
class sleeping_thread {
 public:
  sleeping_thread();
  sleeping_thread(const sleeping_thread&) = delete;
  sleeping_thread& operator=(const sleeping_thread&) = delete;
  ~sleeping_thread();

  /// What wakes it, when it is resumed: once, by any thread.
  std::coroutine_handle<> waking() const noexcept { return waking_; }
  /// Until it is woken. On a worker the seat is lent meanwhile.
  void sleep() noexcept;

 private:
  struct step;
  static constexpr std::size_t room_for_step = 128; // GCC 12 and Clang 19 need less than that

  alignas(std::max_align_t) std::byte room_[room_for_step];
  std::atomic<std::uint32_t> woken_{0};
  const std::coroutine_handle<> waking_;
  coroutine_root* const root_; // what the thread was doing
};

} // namespace detail

/// `sync_wait(e.wait())`, `auto lock = sync_wait(m.lock())`, `auto v = sync_wait(c.receive(token))`: the calling thread waits for
/// what a coroutine would `co_await`, and is answered the same: what `event`, `auto_reset_event`, `semaphore`, `mutex`,
/// `latch`, `barrier`, `channel` and `oneshot` answer when they are asked to wait, with a stop token or without. Threads and
/// coroutines wait in one list, and are served in the order in which they came.
///
/// From any thread. A plain task sleeps within `blocking`: a spare thread takes its worker, if there is one. (`future::get`
/// refuses there, for what it waits for may be queued on that very worker, and a `blocking_scope` would run it; who
/// unlocks a mutex is mostly under way, and a plain task has no other way to wait for that.) A coroutine that has a worker gets
/// a `std::logic_error`: it can `co_await`, or wait within `blocking`. Cost: that of the awaited if it need not wait; else a
/// thread sleeps and is woken, 5-50 us. Allocates nothing. The name is that of P2300.
template <detail::thread_awaiter A> auto sync_wait(A&& awaited) -> decltype(awaited.await_resume()) {
  detail::check_may_sleep();
  if (!awaited.await_ready()) {
    detail::sleeping_thread here;
    if (awaited.await_suspend(here.waking())) here.sleep();
  }
  return awaited.await_resume();
}

/// A coroutine runs on an engine: `sync_wait(engine, task)`.
template <class T> void sync_wait(task<T> needs_an_engine) = delete;

} // namespace corewise
