#pragma once

#include <corewise/engine/task.hpp>
#include <corewise/engine/timer.hpp>

#include <chrono>
#include <concepts>
#include <stop_token>
#include <type_traits>

namespace corewise {

namespace detail {

/// Requests a stop when its time has come, unless it is gone by then. Within an engine's coroutines.
class stop_timer {
 public:
  /// Throws `std::logic_error` elsewhere, `std::bad_alloc`.
  stop_timer(std::chrono::nanoseconds d, std::stop_source source);
  stop_timer(const stop_timer&) = delete;
  stop_timer& operator=(const stop_timer&) = delete;
  ~stop_timer() { timer_.cancel(); }

 private:
  timer timer_;
};

} // namespace detail

/// `co_await with_deadline(d, f)`: awaits the coroutine `f(token)`, whose token is told to stop `d` after that began. It is
/// told, not ended: what it awaits with the token wakes up, and what it answers or throws then is the answer. Within an
/// engine's coroutines; elsewhere awaiting it throws `std::logic_error`. Cost: a frame, a stop state and a timer.
///
///     const bool in_time = co_await with_deadline(50ms, [](std::stop_token token) -> task<bool> { ... });
template <std::invocable<std::stop_token> F>
std::invoke_result_t<F, std::stop_token> with_deadline(std::chrono::nanoseconds d, F f) {
  std::stop_source source;
  const detail::stop_timer limit(d, source);
  co_return co_await f(source.get_token());
}

} // namespace corewise
