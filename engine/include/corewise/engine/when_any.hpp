#pragma once

#include <corewise/engine/scope.hpp>
#include <corewise/engine/when_all.hpp>
#include <corewise/policies/detail/atomic.hpp>

#include <cstddef>
#include <exception>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace corewise {

/// How a racer of `when_any` ended: with a value or with an exception.
template <class T> class raced_outcome {
 public:
  bool has_value() const noexcept { return value_.has_value(); }
  explicit operator bool() const noexcept { return has_value(); }
  /// Return the value. Throw the racer's exception if it ended with one.
  T& value() & { return check(), *value_; }
  const T& value() const& { return check(), *value_; }
  T&& value() && { return check(), *std::move(value_); }
  /// Returns the exception with which the racer ended; null: it ended with a value.
  std::exception_ptr error() const noexcept { return error_; }

  /// For `when_any`. Throws what moving the value throws.
  template <class U> void emplace(U&& value) { value_.emplace(std::forward<U>(value)); }
  void fail(std::exception_ptr error) noexcept { error_ = std::move(error); }

 private:
  void check() const {
    if (error_) std::rethrow_exception(error_);
  }

  std::optional<T> value_;
  std::exception_ptr error_;
};

/// The results of all racers of `when_any`, and which of them was the first to end.
template <class... T> struct [[nodiscard]] raced_results {
  std::size_t index = 0; ///< of the first
  std::tuple<raced_outcome<T>...> all;

  /// Returns the value of the first, at its index in the variant, or throws its exception. The values of the
  /// others are lost with this object.
  std::variant<T...> first() && {
    std::optional<std::variant<T...>> found;
    take(found, std::index_sequence_for<T...>{});
    return *std::move(found);
  }

 private:
  template <std::size_t... I> void take(auto& found, std::index_sequence<I...> /*indices*/) {
    static_cast<void>(
        ((I == index && (found.emplace(std::in_place_index<I>, std::get<I>(std::move(all)).value()), true)) ||
         ...));
  }
};

/// The same for a range.
template <class T> struct [[nodiscard]] raced_range_results {
  std::size_t index = 0; ///< of the first
  std::vector<raced_outcome<T>> all;

  /// Returns the place of the first, and its value, or throws its exception. The values of the others are
  /// lost with this object.
  std::pair<std::size_t, T> first() && { return {index, std::move(all[index]).value()}; }
};

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

/// The first racer that ended. Relaxed: the scope publishes it.
class race {
 public:
  void note_end(std::size_t index) noexcept {
    std::size_t none = no_racer;
    first_.compare_exchange_strong(none, index, std::memory_order_relaxed);
  }
  std::size_t first() const noexcept { return first_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t no_racer = static_cast<std::size_t>(-1);

  atomic<std::size_t> first_{no_racer};
};

template <class T, class F>
task<> run_in(scope& s, race& r, std::size_t index, raced_outcome<T>& out, F& body) {
  try {
    if constexpr (std::is_same_v<T, std::monostate>) {
      co_await body(s.stop_token());
      out.emplace(std::monostate());
    } else {
      auto value = co_await body(s.stop_token());
      out.emplace(std::move(value));
    }
  } catch (...) {
    out.fail(std::current_exception());
  }
  r.note_end(index);
  s.request_stop();
}

/// Throws `std::bad_alloc`: then the children that were forked are stopped.
template <class... F, std::size_t... I>
void fork_all(scope& s, race& r, std::tuple<raced_outcome<raced_value<F>>...>& all, std::index_sequence<I...>,
              F&... bodies) {
  (s.fork(run_in(s, r, I, std::get<I>(all), bodies)), ...);
}

template <class... F> task<raced_results<raced_value<F>...>> results_of(std::stop_token outer, F... bodies) {
  race r;
  raced_results<raced_value<F>...> results;
  co_await in_scope(std::move(outer), [&](scope& s) -> task<> {
    fork_all(s, r, results.all, std::index_sequence_for<F...>{}, bodies...);
    co_return;
  });
  results.index = r.first();
  co_return results;
}

template <class F>
task<raced_range_results<raced_value<F>>> results_of_range(std::stop_token outer, std::vector<F> bodies) {
  race r;
  raced_range_results<raced_value<F>> results;
  results.all.resize(bodies.size());
  co_await in_scope(std::move(outer), [&](scope& s) -> task<> {
    for (std::size_t i = 0; i < bodies.size(); ++i) s.fork(run_in(s, r, i, results.all[i], bodies[i]));
    co_return;
  });
  results.index = r.first();
  co_return results;
}

} // namespace detail

/// `co_await when_any(f, g)`: begins `f(stop)` and `g(stop)`, which return tasks. When the first of them has
/// ended it asks the others to stop through `stop`, and waits for them. The await returns what *all* ended
/// with, values and exceptions, and which was the first (`raced_results`): a loser may have taken a value
/// from a channel, or a permit, before it heard of the stop. `(co_await when_any(f, g)).first()` is the first
/// one's value as a `std::variant`, or throws its exception. Where the racers wait for primitives and nothing
/// else, `select` is better: there the losers have taken nothing.
///
/// A `task<T>` may stand for a callable: it hears of no stop, and runs to its end (ADR 0027). `outer` asks
/// all of them to stop. Call within an engine's tasks only, else it throws `std::logic_error`. Cost: three
/// frames, one for each besides its own, and an allocation for the stop state.
template <detail::raced... F>
  requires(sizeof...(F) != 0)
task<raced_results<detail::raced_value<F>...>> when_any(std::stop_token outer, F... those) {
  return detail::results_of(std::move(outer), detail::raced_body<F>{std::move(those)}...);
}
template <detail::raced... F>
  requires(sizeof...(F) != 0)
task<raced_results<detail::raced_value<F>...>> when_any(F... those) {
  return when_any(std::stop_token{}, std::move(those)...);
}

/// Acts as above for a range of callables, or of tasks, which is moved from (`raced_range_results`). Throws
/// `std::invalid_argument` if the range is empty, `std::bad_alloc`.
template <detail::raced_range Range> auto when_any(std::stop_token outer, Range&& those) {
  using body = detail::raced_body<std::ranges::range_value_t<Range>>;
  std::vector<body> bodies;
  if constexpr (std::ranges::sized_range<Range>) bodies.reserve(std::ranges::size(those));
  for (auto&& one : those) bodies.push_back(body{std::move(one)});
  if (bodies.empty()) throw std::invalid_argument("when_any needs at least one task");
  return detail::results_of_range(std::move(outer), std::move(bodies));
}
template <detail::raced_range Range> auto when_any(Range&& those) {
  return when_any(std::stop_token{}, std::forward<Range>(those));
}

} // namespace corewise
