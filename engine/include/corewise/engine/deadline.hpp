#pragma once

#include <corewise/engine/deadline_expired.hpp>
#include <corewise/engine/sleep.hpp>
#include <corewise/engine/task.hpp>
#include <corewise/engine/timer.hpp>
#include <corewise/policies/detail/clock.hpp>

#include <chrono>
#include <concepts>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

namespace corewise {

namespace detail {

/// Requests a stop when its time has come, unless it was destroyed before. Use within an engine's coroutines.
class stop_timer {
 public:
  /// Throws `std::logic_error` outside an engine's coroutines, `std::bad_alloc`.
  stop_timer(std::chrono::nanoseconds d, std::stop_source source);
  stop_timer(const stop_timer&) = delete;
  stop_timer& operator=(const stop_timer&) = delete;
  ~stop_timer() { timer_.cancel(); }

 private:
  timer timer_;
};

} // namespace detail

/// `co_await with_deadline(d, f)`: awaits the coroutine `f(token)`, and tells its token to stop `d` after the
/// coroutine began, or when `outer` is told to. The coroutine is told, not ended: things that it awaits with
/// the token wake up, and the result or exception that it then ends with is the result. A worker of the engine
/// in which it began tells it, between two tasks: later where all workers compute. Call within an
/// engine's coroutines; elsewhere awaiting it throws `std::logic_error`. Cost: a frame, a stop state and a
/// timer.
///
///     const bool in_time = co_await with_deadline(50ms, [](std::stop_token token) -> task<bool> { ... });
template <std::invocable<std::stop_token> F>
std::invoke_result_t<F, std::stop_token> with_deadline(std::stop_token outer, any_duration d, F f) {
  std::stop_source source;
  const std::stop_callback stopped_from_outside(std::move(outer), [&source] { source.request_stop(); });
  const detail::stop_timer limit(d, source);
  co_return co_await f(source.get_token());
}
template <std::invocable<std::stop_token> F>
std::invoke_result_t<F, std::stop_token> with_deadline(any_duration d, F f) {
  return with_deadline(std::stop_token{}, d, std::move(f));
}

/// `co_await with_deadline(work, d)`, for a task that exists already: awaits it and returns its result.
/// Throws `deadline_expired` if it had not ended `d` after it was begun. The task is not ended before its
/// time (ADR 0027): for that, pass `stop`, the source of the token that the task was made with, which is told
/// when the time has come. An exception of the task comes out, late or not. Cost: a frame and two looks at
/// the clock; with `stop` a timer, and then only within an engine's coroutines, else it throws
/// `std::logic_error`.
///
///     std::stop_source stop;
///     const answer a = co_await with_deadline(ask(stop.get_token()), 50ms, stop);
template <class T>
task<T> with_deadline(task<T> work, any_duration d,
                      std::stop_source stop = std::stop_source(std::nostopstate)) {
  const std::chrono::steady_clock::time_point until = from_now(d);
  std::optional<detail::stop_timer> limit;
  if (stop.stop_possible()) limit.emplace(d, std::move(stop));
  const auto check = [until] {
    if (detail::monotonic::now() >= until) throw deadline_expired("the task had not ended at its deadline");
  };
  if constexpr (std::is_void_v<T>) {
    co_await std::move(work);
    check();
  } else {
    T value = co_await std::move(work);
    check();
    co_return value;
  }
}

} // namespace corewise
