#pragma once

#include <corewise/engine/deadline_expired.hpp>
#include <corewise/engine/detail/suspension.hpp>
#include <corewise/engine/task.hpp>
#include <corewise/policies/any_duration.hpp>
#include <corewise/policies/detail/atomic.hpp>
#include <corewise/policies/detail/clock.hpp>

#include <cassert>
#include <chrono>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <variant>

namespace corewise {

/// The exception of a future whose work never ran to its end: the engine refused it, or dropped it at its
/// shutdown, or the work had not ended when this child was made by a process fork.
class not_run : public std::runtime_error {
 public:
  not_run() : std::runtime_error("the engine refused or dropped the task") {}
};

namespace detail {

/// Throws `std::logic_error` on a worker, which might have to run the work itself for which it would wait.
void check_may_wait();

struct future_waiter;

// The state that a future and its work share. Invariant: the last of the two to let go destroys it.
//
//     pending ──settle──► settled
//        └──wait────► waiting ──settle──► settled
//
// | tag     | release site             | acquire site        | publishes          | weakened          |
// |---------|--------------------------|---------------------|--------------------|-------------------|
// | settled | settle: exchange, store  | ready, wait: loads; | the value or the   | a half-made value |
// |         | of `pending_`            | begin_waiting: CAS  | error              |                   |
// | waits   | begin_waiting, wait: CAS | settle: exchange    | the waiter's frame | resumed too early |
// | dropped | release: fetch_sub       | release: fetch_sub  | the other side's   | freed while it is |
// |         |                          |                     | last use           | used              |
class future_state {
 public:
  future_state() noexcept = default;
  future_state(const future_state&) = delete;
  future_state& operator=(const future_state&) = delete;

  bool ready() const noexcept {
    return waiter_.load(std::memory_order_acquire) == settled(); // pairs: settled
  }
  /// Sleeps on the calling thread until the state is ready, or, if there is a limit, for at most so long.
  /// Returns whether it is ready. Throws as `check_may_wait` if it is not.
  bool wait(std::optional<std::chrono::nanoseconds> limit);
  /// Returns false if the state is ready, or never will be, so that the waiter goes on.
  bool begin_waiting(resumption* waiter) noexcept;
  /// Takes the waiter out. Returns false if the state is settled.
  bool withdraw(resumption& waits) noexcept;
  /// Settles the state, once: the value or the error is there, or there will be none.
  void settle() noexcept;
  /// Notes that the work begins in this process. Call before the work is queued.
  void begin() noexcept;

  /// Lets go. Returns whether the caller is the last.
  bool release() noexcept { return users_.fetch_sub(1, std::memory_order_acq_rel) == 1; } // pairs: dropped

  std::exception_ptr error;   ///< the work's, until it is settled
  const void* work = nullptr; ///< the frame of the coroutine that is the work; for reports

 private:
  // Two values that are never dereferenced.
  resumption* settled() const noexcept { return mark(0); }
  resumption* sleeper() const noexcept { return mark(1); }
  resumption* mark(std::size_t n) const noexcept {
    auto* const bytes = reinterpret_cast<std::byte*>(const_cast<future_state*>(this));
    return reinterpret_cast<resumption*>(bytes + n);
  }

  bool left_behind() const noexcept;

  detail::atomic<resumption*> waiter_{nullptr};
  /// The word on which a thread sleeps: the number of the process in which the work is, or 0 when it is done.
  detail::atomic<std::uint32_t> pending_{1};
  detail::atomic<std::uint32_t> users_{2};
};

/// A coroutine that awaits a future. Lives in the awaiting frame.
struct future_waiter : suspension {
  explicit future_waiter(future_state& awaited) noexcept : state(awaited) {}
  future_waiter(const future_waiter&) = delete;
  future_waiter& operator=(const future_waiter&) = delete;
  ~future_waiter() {
    const bool left = is_left_waiting();
    free_entry();
    if (left) [[unlikely]]
      state.withdraw(*this);
  }

  template <class Promise> bool await_suspend(std::coroutine_handle<Promise> suspended) noexcept {
    suspend(suspended, how_);
    take_entry();
    return state.begin_waiting(this);
  }

  future_state& state;

 private:
  static const wait_record how_;
};

template <class T> struct future_state_of : future_state {
  using stored = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

  std::optional<stored> value;

  static void* operator new(std::size_t bytes) { return task_promise_base::operator new(bytes); }
  static void operator delete(void* state, std::size_t bytes) noexcept {
    task_promise_base::operator delete(state, bytes);
  }
  /// Of a result with a greater alignment than usual.
  static void* operator new(std::size_t bytes, std::align_val_t alignment) {
    return ::operator new(bytes, alignment);
  }
  static void operator delete(void* state, std::size_t /*bytes*/, std::align_val_t alignment) noexcept {
    ::operator delete(state, alignment); // without the size, of which not all compilers tell it
  }

  T take() {
    if (error) std::rethrow_exception(std::exchange(error, nullptr)); // its catcher destroys it
    if (!value) throw not_run();
    if constexpr (!std::is_void_v<T>) return *std::move(value);
  }
};

struct let_go_of_state {
  template <class State> void operator()(State* s) const noexcept {
    if (s->release()) delete s;
  }
};

/// The end of the work: settles the future, at the latest when the work is destroyed.
template <class T> class settlement {
 public:
  explicit settlement(future_state_of<T>* state) noexcept : state_(state) {}
  settlement(settlement&&) noexcept = default;
  settlement& operator=(settlement&&) = delete;
  ~settlement() {
    if (state_) state_->settle();
  }

  /// Settles with the result or the exception of `f`. Nothing is left of `f` then.
  template <class F> void with_result_of(std::optional<F>& f) noexcept {
    try {
      if constexpr (std::is_void_v<T>) {
        (*f)();
        state_->value.emplace();
      } else {
        state_->value.emplace((*f)());
      }
    } catch (...) {
      state_->error = std::current_exception();
    }
    f.reset();
    settle();
  }
  /// Settles with the result or the exception of the task. Nothing is left of the task then.
  static task<> when_ended(settlement self, task<T> work) {
    try {
      task<T> ends_here = std::move(work);
      if constexpr (std::is_void_v<T>) {
        co_await std::move(ends_here);
        self.state_->value.emplace();
      } else {
        self.state_->value.emplace(co_await std::move(ends_here));
      }
    } catch (...) {
      self.state_->error = std::current_exception();
    }
    self.settle();
  }

 private:
  void settle() noexcept {
    state_->settle();
    state_.reset();
  }

  std::unique_ptr<future_state_of<T>, let_go_of_state> state_;
};

/// Calls `body` and settles with what comes of it.
template <class T, class F> struct settling {
  using calls = F;
  settlement<T> end;
  std::optional<F> body;
  void operator()() noexcept { end.with_result_of(body); }
};

} // namespace detail

/// The result of work that runs on an engine (`engine::run`). Move-only. It has one value, once, for one
/// waiter: a thread takes it by `get`, a coroutine by `co_await std::move(f)`. After that the future is
/// empty; builds with assertions notice a later use, and a second waiter. Destroying the future lets the work
/// go on.
template <class T> class [[nodiscard]] future {
  using owner = std::unique_ptr<detail::future_state_of<T>, detail::let_go_of_state>;

 public:
  explicit future(detail::future_state_of<T>* state) noexcept : state_(state) {}

  /// Returns whether the result is there. Call from any thread.
  bool ready() const noexcept { return state().ready(); }
  /// Makes the calling thread wait for the result. Throws `std::logic_error` on a worker, where it might wait
  /// for itself; `co_await` it there, or wait within `corewise::blocking`.
  void wait() const { state().wait({}); }
  /// Waits as `wait`, at most for `limit`. Returns whether the result is there.
  bool wait_for(any_duration limit) const { return state().wait(std::chrono::nanoseconds(limit)); }
  /// Waits as `wait`, at most until the moment `t`. Returns whether the result is there.
  bool wait_until(any_moment t) const {
    return wait_for(later(t, -detail::monotonic::now().time_since_epoch()).time_since_epoch());
  }
  /// Waits, and returns the value. Throws the work's exception; `not_run` if the work did not run to its end;
  /// `deadline_expired` if its hint had a deadline and it did not begin in time.
  T get() {
    wait();
    return std::exchange(state_, nullptr)->take();
  }

  /// Suspends the calling coroutine, not its worker, until the result is there. Call from any coroutine.
  auto operator co_await() && noexcept {
    struct awaiter : private owner, private detail::future_waiter { // the owner, which goes first
      explicit awaiter(owner&& from) noexcept : owner(std::move(from)), future_waiter(**this) {}

      bool await_ready() const noexcept { return state.ready(); }
      using future_waiter::await_suspend;
      T await_resume() {
        resumed();
        return (*this)->take();
      }
    };
    static_cast<void>(state());
    return awaiter(std::move(state_));
  }

 private:
  detail::future_state_of<T>& state() const noexcept {
    assert(state_ && "the future was moved from, or its value was taken before");
    return *state_;
  }

  owner state_;
};

} // namespace corewise
