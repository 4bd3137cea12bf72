#pragma once

#include <corewise/engine/engine.hpp>

#include <optional>

namespace corewise {

namespace detail {

/// Awaits a call that blocks. The call has ended before anything is suspended.
template <class F> class [[nodiscard]] blocking_call {
 public:
  using result = std::invoke_result_t<F&>;
  static_assert(!std::is_reference_v<result>, "a blocking call returns a value, not a reference");

  template <class G> explicit blocking_call(std::in_place_t, G&& f) : function_(std::forward<G>(f)) {}
  blocking_call(const blocking_call&) = delete;
  blocking_call& operator=(const blocking_call&) = delete;

  /// Calls the function. Returns whether the coroutine is still on a worker, or never was.
  bool await_ready() noexcept {
    try {
      if constexpr (std::is_void_v<result>)
        blocking(function_);
      else
        value_.emplace(blocking(function_));
    } catch (...) {
      error_ = std::current_exception();
    }
    return this_execution.root == nullptr || this_execution.seat != nullptr;
  }
  void await_suspend(std::coroutine_handle<> suspended) noexcept {
    place_.suspend(suspended);
    place_.wake();
  }
  result await_resume() {
    if (error_) std::rethrow_exception(error_);
    if constexpr (!std::is_void_v<result>) return *std::move(value_);
  }

 private:
  F function_;
  std::optional<std::conditional_t<std::is_void_v<result>, std::monostate, result>> value_;
  std::exception_ptr error_;
  resumption place_;
};

} // namespace detail

/// `auto bytes = co_await run_blocking(f)`: calls a copy of `f` as `blocking` does, here and now; the await
/// returns the result of `f`. If that took so long that a spare thread has the worker's seat, the coroutine
/// goes on there, and not on the thread that blocked, which becomes spare. Outside of an engine's tasks it
/// just calls `f`. Cost: that of `blocking`, and that of a resumption when the seat was lost. Throws what `f`
/// throws. (It has a name of its own, since `blocking(f)` returns the result of `f`, which need not be
/// awaitable.)
template <std::invocable F> detail::blocking_call<std::decay_t<F>> run_blocking(F&& f) {
  return detail::blocking_call<std::decay_t<F>>(std::in_place, std::forward<F>(f));
}

} // namespace corewise
