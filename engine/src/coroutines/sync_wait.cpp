#include "base/futex.hpp"
#include "runtime/runtime.hpp"

#include <corewise/engine/engine.hpp>
#include <corewise/engine/sync_wait.hpp>
#include <corewise/policies/detail/atomic.hpp>

#include <stdexcept>
#include <utility>

namespace corewise::detail {

/// The coroutine that wakes the thread.
struct sleeping_thread::step {
  struct promise_type {
    // A frame that is too large is allocated plainly.
    static void* operator new(std::size_t bytes, sleeping_thread& of) {
      return bytes <= room_for_step ? of.room_ : acquire_large(bytes);
    }
    static void operator delete(void* frame, std::size_t bytes) noexcept {
      if (bytes > room_for_step) release_large(frame, bytes);
    }

    step get_return_object() noexcept { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    std::suspend_always final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept {}
  };

  /// The last step, at which the coroutine is suspended for good. From the store on, its frame is the
  /// thread's, and may be gone with the thread: the kernel is told the address, no more. A function of its
  /// own, so that nothing of it is in the frame.
  struct last {
    atomic<std::uint32_t>& woken;

    bool await_ready() const noexcept { return false; }
    [[gnu::noinline]] void await_suspend(std::coroutine_handle<> /*suspended*/) const noexcept {
      atomic<std::uint32_t>& word = woken;
      word.store(1, std::memory_order_release); // pairs: awake
      futex_wake(word, 1);
    }
    void await_resume() const noexcept {}
  };

  static step of(sleeping_thread& sleeper) { co_await last{sleeper.woken_}; }

  std::coroutine_handle<> handle;
};

void check_may_sleep() {
  forget_parent_process();
  if (this_execution.root != nullptr && this_execution.seat != nullptr)
    throw std::logic_error("sync_wait would block the worker of this coroutine: use co_await instead");
}

sleeping_thread::sleeping_thread()
    : waking_(step::of(*this).handle),
      root_(std::exchange(this_execution.root, nullptr)) {}

sleeping_thread::~sleeping_thread() {
  waking_.destroy();
  this_execution.root = root_;
}

void sleeping_thread::sleep() noexcept {
  const blocking_region region;
  while (woken_.load(std::memory_order_acquire) == 0) futex_wait(woken_, 0); // pairs: awake
}

} // namespace corewise::detail
