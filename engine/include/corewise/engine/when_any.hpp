#pragma once

#include <corewise/engine/scope.hpp>
#include <corewise/engine/when_all.hpp>

#include <atomic>
#include <variant>

namespace corewise {

namespace detail {

template <class F>
using raced_value =
    value_or_monostate<decltype(fork_access::take(std::declval<F&>()(std::declval<std::stop_token>())))>;

/// Who ended first, and with what. `ended` is relaxed: who sets it writes the rest, which the scope publishes.
template <class... Values> struct race {
  std::atomic<bool> ended{false};
  std::optional<std::variant<Values...>> value;
  std::exception_ptr error;

  bool first() noexcept { return !ended.exchange(true, std::memory_order_relaxed); }
};

template <std::size_t I, class Race, class F> task<> run_in(scope& s, Race& results, F& body) {
  bool won = false;
  try {
    if constexpr (std::is_same_v<raced_value<F>, std::monostate>) {
      co_await body(s.stop_token());
      won = results.first();
      if (won) results.value.emplace(std::in_place_index<I>);
    } else {
      auto value = co_await body(s.stop_token());
      won = results.first();
      if (won) results.value.emplace(std::in_place_index<I>, std::move(value));
    }
  } catch (...) {
    if (won || results.first()) results.error = std::current_exception();
  }
  s.request_stop();
}

/// Throws `std::bad_alloc`: then those that were forked are stopped.
template <class Race, class... F, std::size_t... I>
void fork_all(scope& s, Race& results, std::index_sequence<I...>, F&... bodies) {
  (s.fork(run_in<I>(s, results, bodies)), ...);
}

} // namespace detail

/// `co_await when_any(f, g)` begins `f(stop)` and `g(stop)`, which answer tasks, and answers a `std::variant` of what the first
/// of them answers that ends, its index saying which (`std::monostate` for `void`); or throws what that one throws. The others
/// are asked to stop through `stop`, and it waits for them; what becomes of them is not told. Within an engine's tasks only, else
/// `std::logic_error`. Cost: three frames, one for each besides its own, and an allocation for the stop state.
template <class... F>
  requires(sizeof...(F) != 0)
task<std::variant<detail::raced_value<F>...>> when_any(F... bodies) {
  detail::race<detail::raced_value<F>...> results;
  co_await in_scope([&](scope& s) -> task<> {
    detail::fork_all(s, results, std::index_sequence_for<F...>{}, bodies...);
    co_return;
  });
  if (results.error) std::rethrow_exception(results.error);
  co_return *std::move(results.value);
}

} // namespace corewise
