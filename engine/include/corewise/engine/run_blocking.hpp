#pragma once

#include <corewise/engine/detail/awaiting.hpp>
#include <corewise/engine/detail/blocking_limit.hpp>
#include <corewise/engine/detail/fork_join.hpp>
#include <corewise/engine/engine.hpp>

#include <optional>
#include <stop_token>
#include <utility>
#include <variant>

namespace corewise {

namespace detail {

/// Awaits a call that blocks. Where a permit is free, the call has ended before anything is suspended.
/// Otherwise the coroutine is suspended until it is called up, and its worker makes the call before it
/// resumes the coroutine.
template <class F>
class [[nodiscard]] blocking_call : protected awaiting<wait_kind::blocking_call, call_permit> {
  using base = awaiting<wait_kind::blocking_call, call_permit>;

 public:
  using result = std::invoke_result_t<F&>;
  static_assert(!std::is_reference_v<result>, "a blocking call returns a value, not a reference");

  template <class G>
  explicit blocking_call(std::in_place_t, G&& f) : base(call_permit()),
                                                   function_(std::forward<G>(f)) {}
  blocking_call(const blocking_call&) = delete;
  blocking_call& operator=(const blocking_call&) = delete;
  ~blocking_call() = default;

  /// Calls the function, if a permit is free. Returns whether it did, and the coroutine is still on a worker,
  /// or never was.
  bool await_ready() noexcept {
    if (!base::await_ready()) return false;
    call();
    return may_go_on();
  }
  /// Returns false if the coroutine goes on. After true, do not touch this again.
  template <class Promise> bool await_suspend(std::coroutine_handle<Promise> suspended) noexcept {
    if (!was_called()) {
      wait(suspended, &begin);
      if (source().enter(own())) return true;
      call();
    }
    return go_to_worker(suspended);
  }
  result await_resume() {
    if (error_) std::rethrow_exception(error_);
    if constexpr (!std::is_void_v<result>) return *std::move(value_);
  }

 protected:
  using action = bool (*)(task_header*, task_action);

  bool was_called() noexcept { return own().state == wait_state::taken; }
  /// Suspends the coroutine; when it is called up, its worker acts by `begins`.
  template <class Promise> void wait(std::coroutine_handle<Promise> suspended, action begins) noexcept {
    base::suspend(suspended);
    go_on_ = std::exchange(this->act, begins);
    if (this->root != nullptr) this->run_as = this->root->run_as;
  }
  /// Ends a wait without a call: from now on the coroutine is resumed.
  void forgo() noexcept { this->act = go_on_; }
  /// Sends the coroutine to a worker, if its thread has lost the seat. Returns whether it did.
  template <class Promise> bool go_to_worker(std::coroutine_handle<Promise> suspended) noexcept {
    if (may_go_on()) return false;
    resumption::suspend(suspended);
    wake();
    return true;
  }
  /// Calls the function, with the permit that was taken.
  void call() noexcept {
    this->resumed();
    own().state = wait_state::taken;
    const blocking_turn turn(source().limit);
    try {
      if constexpr (std::is_void_v<result>)
        function_();
      else
        value_.emplace(function_());
    } catch (...) {
      error_ = std::current_exception();
    }
  }
  /// Makes the call of a coroutine that has a permit, and resumes it. Call from a worker's thread.
  bool call_and_resume() {
    const std::coroutine_handle<> suspended = this->frame;
    this_execution.root = this->root;
    call();
    this->frame = suspended;
    forgo();
    if (may_go_on()) return this->act(this, task_action::run);
    this_execution.root = nullptr;
    wake();
    return false;
  }
  /// Acts as the coroutine does in all but a run.
  static bool perform_unrun(task_header* t, task_action asked) {
    if (asked == task_action::identify) return identify_coroutine();
    return static_cast<blocking_call*>(t)->go_on_(t, asked);
  }

 private:
  static bool may_go_on() noexcept {
    return this_execution.root == nullptr || this_execution.seat != nullptr;
  }
  /// The `act` of a coroutine that waits or was called up.
  static bool begin(task_header* t, task_action asked) {
    if (asked != task_action::run) return perform_unrun(t, asked);
    auto* const self = static_cast<blocking_call*>(t);
    return self->source().limit->begin(self->own()) == wait_state::taken && self->call_and_resume();
  }

  F function_;
  std::optional<std::conditional_t<std::is_void_v<result>, std::monostate, result>> value_;
  std::exception_ptr error_;
  action go_on_ = nullptr; // resumes the coroutine
};

/// Awaits a call that blocks, or a stop before the call has begun.
template <class F> class [[nodiscard]] stoppable_blocking_call : blocking_call<F> {
  using base = blocking_call<F>;

 public:
  using result =
      std::conditional_t<std::is_void_v<typename base::result>, bool, std::optional<typename base::result>>;

  template <class G>
  explicit stoppable_blocking_call(std::in_place_t, G&& f, std::stop_token token)
      : base(std::in_place, std::forward<G>(f)),
        token_(std::move(token)) {}

  bool await_ready() noexcept { return token_.stop_requested() || base::await_ready(); }
  template <class Promise> bool await_suspend(std::coroutine_handle<Promise> suspended) noexcept {
    if (!this->was_called()) {
      this->wait(suspended, &begin);
      stopper_.emplace(token_, stopper{this}); // it may be called here, and any time from now on
      if (this->source().enter(this->own())) return true;
      stopper_.reset();
      if (this->own().state == wait_state::stopped) return false;
      this->call();
    }
    return this->go_to_worker(suspended);
  }
  /// Returns nothing, or false, if it was stopped before the call.
  result await_resume() {
    if (!this->was_called()) {
      this->resumed();
      return result();
    }
    if constexpr (std::is_void_v<typename base::result>) {
      base::await_resume();
      return true;
    } else {
      return base::await_resume();
    }
  }

 private:
  struct stopper {
    stoppable_blocking_call* self;
    void operator()() const noexcept {
      if (!self->source().leave(self->own())) return;
      self->forgo();
      self->own().wake();
    }
  };

  static bool begin(task_header* t, task_action asked) {
    if (asked != task_action::run) return base::perform_unrun(t, asked);
    auto* const self = static_cast<stoppable_blocking_call*>(t);
    blocking_limit& limit = *self->source().limit;
    const wait_state got = limit.begin(self->own(), self->token_);
    if (got == wait_state::queued) return false;
    self->stopper_.reset(); // waits for it
    if (got == wait_state::taken) {
      if (!self->token_.stop_requested()) return self->call_and_resume();
      self->note_stopped();
      limit.give();
    }
    self->forgo();
    return self->act(t, task_action::run);
  }

  std::stop_token token_;
  std::optional<std::stop_callback<stopper>> stopper_;
};

} // namespace detail

/// `auto bytes = co_await run_blocking(f)`: calls a copy of `f` as `blocking` does; the await returns the
/// result of `f`. The call is made here and now. If it took so long that a spare thread has the worker's
/// seat, the coroutine goes on there, and not on the thread that blocked, which becomes spare.
///
/// Where `blocking.max_concurrent` calls run already, the coroutine waits suspended, without a thread, in the
/// order of arrival. When a call ends, the coroutine goes to the worker that it ran on last, and that worker
/// makes the call. The await never throws `blocking_full`. A shutdown at its deadline destroys coroutines
/// that wait.
///
/// Outside of an engine's tasks it just calls `f`. Cost: that of `blocking`, and that of a resumption when
/// the seat was lost or the coroutine had to wait; waiting allocates nothing. Throws what `f` throws. (It has
/// a name of its own, since `blocking(f)` returns the result of `f`, which need not be awaitable.)
template <std::invocable F> detail::blocking_call<std::decay_t<F>> run_blocking(F&& f) {
  return detail::blocking_call<std::decay_t<F>>(std::in_place, std::forward<F>(f));
}
/// Acts as above, until `token` is told to stop: a call that has not begun by then is not made. The await
/// returns an optional with the result of `f`, or true if that is void; nothing, or false, if it was stopped.
template <std::invocable F>
detail::stoppable_blocking_call<std::decay_t<F>> run_blocking(F&& f, std::stop_token token) {
  return detail::stoppable_blocking_call<std::decay_t<F>>(std::in_place, std::forward<F>(f),
                                                          std::move(token));
}

} // namespace corewise
