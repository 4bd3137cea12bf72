#pragma once

#include <atomic>
#include <coroutine>
#include <cstdint>
#include <exception>

// Coroutines on a pool of closures, as a user would write them there: a suspended coroutine comes back as a
// closure that resumes it.

namespace corewise::bench {

/// A coroutine that no other waits for. It begins when its handle is resumed, and its frame ends with it.
struct detached {
  struct promise_type {
    detached get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
  std::coroutine_handle<> handle;
};

/// Posts from outside.
template <class Pool> void post(Pool& pool, std::coroutine_handle<> h) {
  pool.post([h] { h.resume(); });
}
/// Spawns from a task.
template <class Pool> void spawn(Pool& pool, std::coroutine_handle<> h) {
  pool.spawn([h] { h.resume(); });
}

/// Lets the waiting tasks of the pool go first when it is awaited. The coroutine comes back as if from
/// outside, since some pools run what a task spawns next.
template <class Pool> struct give_way {
  Pool& pool;

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> h) const { post(pool, h); }
  void await_resume() const noexcept {}
};

/// A number from one coroutine to another, once.
template <class Pool> class oneshot {
 public:
  explicit oneshot(Pool& pool) : pool_(pool) {}

  void send(std::uint64_t value) {
    Pool& pool = pool_; // the receiver may end this object
    value_ = value;
    void* const waiter = state_.exchange(this, std::memory_order_acq_rel);
    if (waiter != nullptr) spawn(pool, std::coroutine_handle<>::from_address(waiter));
  }

  auto receive() {
    struct awaiter {
      oneshot& from;
      bool await_ready() const noexcept { return from.state_.load(std::memory_order_acquire) == &from; }
      bool await_suspend(std::coroutine_handle<> h) const noexcept {
        void* nobody = nullptr;
        return from.state_.compare_exchange_strong(nobody, h.address(), std::memory_order_acq_rel,
                                                   std::memory_order_acquire);
      }
      std::uint64_t await_resume() const noexcept { return from.value_; }
    };
    return awaiter{*this};
  }

 private:
  Pool& pool_;
  std::uint64_t value_ = 0;
  std::atomic<void*> state_{nullptr}; // the waiter; or `this`: the value is there, and this publishes it
};

} // namespace corewise::bench
