#pragma once

#include <corewise/engine/task.hpp>

#include <algorithm>
#include <iterator>
#include <ranges>
#include <tuple>
#include <variant>
#include <vector>

namespace corewise {

namespace detail {

template <class T> using value_or_monostate = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

/// Returns the value of a task that has ended; throws its exception.
template <class T> value_or_monostate<T> take_value(const task<T>& ended) {
  if constexpr (std::is_void_v<T>) {
    fork_access::take(ended);
    return {};
  } else {
    return fork_access::take(ended);
  }
}

template <class... T> class [[nodiscard]] all_of {
 public:
  explicit all_of(task<T>&&... children) noexcept : children_(std::move(children)...) {}
  all_of(const all_of&) = delete;
  all_of& operator=(const all_of&) = delete;

  bool await_ready() const noexcept { return false; }
  template <class Promise> std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> parent) {
    join_.suspend(parent);
    return fork(std::index_sequence_for<T...>{}, nested(parent));
  }
  auto await_resume() {
    return std::apply(
        [](const task<T>&... ended) {
          // Braces: from left to right, so that the leftmost exception is thrown.
          std::tuple<value_or_monostate<T>...> values{take_value(ended)...};
          if constexpr (!(std::is_void_v<T> && ...)) return values;
        },
        children_);
  }

 private:
  template <std::size_t... I> std::coroutine_handle<> fork(std::index_sequence<I...>, bool nested) noexcept {
    constexpr std::size_t last = sizeof...(I) - 1;
    (fork_unless_first<last - I>(), ...);
    return join_.start(fork_access::strand_of(std::get<0>(children_)), nested);
  }
  template <std::size_t I> void fork_unless_first() noexcept {
    if constexpr (I != 0) join_.fork(fork_access::strand_of(std::get<I>(children_)));
  }

  std::tuple<task<T>...> children_;
  fork_join join_;
};

template <class T> class [[nodiscard]] all_of_range {
 public:
  explicit all_of_range(std::vector<task<T>>&& children) noexcept : children_(std::move(children)) {}
  all_of_range(const all_of_range&) = delete;
  all_of_range& operator=(const all_of_range&) = delete;

  bool await_ready() const noexcept { return children_.empty(); }
  template <class Promise> std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> parent) {
    join_.suspend(parent);
    for (std::size_t i = children_.size() - 1; i != 0; --i) join_.fork(fork_access::strand_of(children_[i]));
    return join_.start(fork_access::strand_of(children_.front()), nested(parent));
  }
  auto await_resume() {
    if constexpr (std::is_void_v<T>) {
      for (const task<T>& ended : children_) fork_access::take(ended);
    } else {
      std::vector<T> values;
      values.reserve(children_.size());
      for (const task<T>& ended : children_) values.push_back(fork_access::take(ended));
      return values;
    }
  }

 private:
  std::vector<task<T>> children_;
  fork_join join_;
};

template <class Range> struct task_range;
template <class Range>
  requires std::ranges::input_range<Range>
struct task_range<Range> {
  template <class T> static T of(const task<T>&);
  using value = decltype(of(std::declval<std::ranges::range_value_t<Range>&>()));
};

} // namespace detail

/// `auto [a, b] = co_await when_all(f(), g())`: runs all of them, at the same time where workers are free.
/// The await returns their values when all have ended (`std::monostate` for `void`; nothing if all are
/// `void`), or throws the leftmost exception then. The calling worker runs them from left to right; idle
/// workers take from the right. Call in an engine's tasks only, else it throws `std::logic_error`. Cost: two
/// fences a child besides its frame; a few locked instructions for a child that another worker took.
/// Allocates nothing. Source of the deque: Chase and Lev, SPAA 2005.
template <class... T>
  requires(sizeof...(T) != 0)
detail::all_of<T...> when_all(task<T>... children) noexcept {
  return detail::all_of<T...>(std::move(children)...);
}

/// Acts as above for a range of `task<T>`, which is moved from. The await returns a `std::vector<T>`, or
/// nothing for `task<>`. Throws `std::bad_alloc`.
template <std::ranges::input_range Range>
auto when_all(Range&& children) -> detail::all_of_range<typename detail::task_range<Range>::value> {
  using T = typename detail::task_range<Range>::value;
  if constexpr (std::is_same_v<std::remove_cvref_t<Range>, std::vector<task<T>>>) {
    std::vector<task<T>>& all = children;
    return detail::all_of_range<T>(std::move(all));
  } else {
    std::vector<task<T>> all;
    if constexpr (std::ranges::sized_range<Range>) all.reserve(std::ranges::size(children));
    for (auto&& child : children) all.push_back(std::move(child));
    return detail::all_of_range<T>(std::move(all));
  }
}

} // namespace corewise
