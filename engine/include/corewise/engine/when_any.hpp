#pragma once

#include <corewise/engine/scope.hpp>
#include <corewise/engine/when_all.hpp>
#include <corewise/policies/detail/atomic.hpp>

#include <stdexcept>
#include <variant>

namespace corewise {

namespace detail {

/// A task that exists already, and hears of no stop.
template <class T> struct given_task {
  task<T> work;
  task<T> operator()(const std::stop_token& /*stop*/) noexcept { return std::move(work); }
};

/// The callable that takes the token and returns a task.
template <class F> struct body_of : std::type_identity<F> {};
template <class T> struct body_of<task<T>> : std::type_identity<given_task<T>> {};
template <class F> using raced_body = typename body_of<F>::type;

template <class F>
concept raced = std::invocable<raced_body<F>&, std::stop_token>;
template <class Range>
concept raced_range = std::ranges::input_range<Range> && raced<std::ranges::range_value_t<Range>>;

template <class F>
using raced_value = value_or_monostate<decltype(fork_access::take(
    std::declval<raced_body<F>&>()(std::declval<std::stop_token>())))>;

/// The winner's result. `ended` is relaxed: the thread that sets it writes the rest, which the scope
/// publishes.
template <class Value> struct race {
  detail::atomic<bool> ended{false};
  std::optional<Value> value;
  std::exception_ptr error;

  bool first() noexcept { return !ended.exchange(true, std::memory_order_relaxed); }
  Value take() {
    if (error) std::rethrow_exception(error);
    return *std::move(value);
  }
};

template <class Value, class Place, class F>
task<> run_in(scope& s, race<Value>& results, Place place, F& body) {
  bool won = false;
  try {
    if constexpr (std::is_same_v<raced_value<F>, std::monostate>) {
      co_await body(s.stop_token());
      won = results.first();
      if (won) results.value.emplace(place, std::monostate());
    } else {
      auto value = co_await body(s.stop_token());
      won = results.first();
      if (won) results.value.emplace(place, std::move(value));
    }
  } catch (...) {
    if (won || results.first()) results.error = std::current_exception();
  }
  s.request_stop();
}

/// Throws `std::bad_alloc`: then the children that were forked are stopped.
template <class Value, class... F, std::size_t... I>
void fork_all(scope& s, race<Value>& results, std::index_sequence<I...>, F&... bodies) {
  (s.fork(run_in(s, results, std::in_place_index<I>, bodies)), ...);
}

template <class... F> task<std::variant<raced_value<F>...>> first_of(std::stop_token outer, F... bodies) {
  race<std::variant<raced_value<F>...>> results;
  co_await in_scope(std::move(outer), [&](scope& s) -> task<> {
    fork_all(s, results, std::index_sequence_for<F...>{}, bodies...);
    co_return;
  });
  co_return results.take();
}

template <class F>
task<std::pair<std::size_t, raced_value<F>>> first_of_range(std::stop_token outer, std::vector<F> bodies) {
  race<std::pair<std::size_t, raced_value<F>>> results;
  co_await in_scope(std::move(outer), [&](scope& s) -> task<> {
    for (std::size_t i = 0; i < bodies.size(); ++i) s.fork(run_in(s, results, i, bodies[i]));
    co_return;
  });
  co_return results.take();
}

} // namespace detail

/// `co_await when_any(f, g)`: begins `f(stop)` and `g(stop)`, which return tasks. The await returns a
/// `std::variant` with the result of the first task that ends; its index says which that is (`std::monostate`
/// for `void`). Or it throws the exception of that task. It asks the others to stop through `stop`, and waits
/// for them; their results are lost. A `task<T>` may stand for a callable: it hears of no stop, and runs to
/// its end (ADR 0027). `outer` asks all of them to stop. Call within an engine's tasks only, else it throws
/// `std::logic_error`. Cost: three frames, one for each besides its own, and an allocation for the stop
/// state.
template <detail::raced... F>
  requires(sizeof...(F) != 0)
task<std::variant<detail::raced_value<F>...>> when_any(std::stop_token outer, F... those) {
  return detail::first_of(std::move(outer), detail::raced_body<F>{std::move(those)}...);
}
template <detail::raced... F>
  requires(sizeof...(F) != 0)
task<std::variant<detail::raced_value<F>...>> when_any(F... those) {
  return when_any(std::stop_token{}, std::move(those)...);
}

/// Acts as above for a range of callables, or of tasks, which is moved from. The await returns a `std::pair`
/// of the first one's index in the range and its result. Throws `std::invalid_argument` if the range is
/// empty, `std::bad_alloc`.
template <detail::raced_range Range> auto when_any(std::stop_token outer, Range&& those) {
  using body = detail::raced_body<std::ranges::range_value_t<Range>>;
  std::vector<body> bodies;
  if constexpr (std::ranges::sized_range<Range>) bodies.reserve(std::ranges::size(those));
  for (auto&& one : those) bodies.push_back(body{std::move(one)});
  if (bodies.empty()) throw std::invalid_argument("when_any needs at least one task");
  return detail::first_of_range(std::move(outer), std::move(bodies));
}
template <detail::raced_range Range> auto when_any(Range&& those) {
  return when_any(std::stop_token{}, std::forward<Range>(those));
}

} // namespace corewise
