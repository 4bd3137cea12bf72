#pragma once

#include <corewise/engine/bounded_vector.hpp>
#include <corewise/engine/task.hpp>

#include <algorithm>
#include <array>
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
    return start(std::index_sequence_for<T...>{}, join_.suspend(parent), nested(parent));
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
  template <std::size_t... I>
  std::coroutine_handle<> start(std::index_sequence<I...>, const fork_join::heritage& given,
                                bool nested) noexcept {
    constexpr std::size_t last = sizeof...(I) - 1;
    (add_unless_first<last - I>(given), ...);
    return join_.start(fork_access::strand_of(std::get<0>(children_)), given, nested);
  }
  template <std::size_t I> void add_unless_first(const fork_join::heritage& given) noexcept {
    if constexpr (I != 0) join_.add(fork_access::strand_of(std::get<I>(children_)), given);
  }

  std::tuple<task<T>...> children_;
  fork_join join_;
};

/// Moves the values out of tasks that have ended, into a container like theirs.
template <class T> std::vector<T> values_of(const std::vector<task<T>>& ended) {
  std::vector<T> values;
  values.reserve(ended.size());
  for (const task<T>& child : ended) values.push_back(fork_access::take(child));
  return values;
}
template <class T, std::size_t Most>
bounded_vector<T, Most> values_of(const bounded_vector<task<T>, Most>& ended) {
  return {ended.size(), [&](std::size_t i) { return fork_access::take(ended[i]); }};
}
template <class T, std::size_t N> std::array<T, N> values_of(const std::array<task<T>, N>& ended) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return std::array<T, N>{fork_access::take(ended[I])...};
  }(std::make_index_sequence<N>{});
}

/// Moves tasks into a container. A container that they come from is left empty, as if it were moved.
template <class Range, class Children> void move_tasks(Range& tasks, Children& to) {
  for (auto&& child : tasks) to.push_back(std::move(child));
  if constexpr (requires { tasks.clear(); }) tasks.clear();
}

/// `Children`: a container of tasks.
template <class Children> class [[nodiscard]] all_of_range {
 public:
  explicit all_of_range(Children&& children) noexcept : children_(std::move(children)) {}
  template <class Range> all_of_range(Range&& tasks, std::in_place_t) { move_tasks(tasks, children_); }
  all_of_range(const all_of_range&) = delete;
  all_of_range& operator=(const all_of_range&) = delete;

  bool await_ready() const noexcept { return children_.empty(); }
  template <class Promise> std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> parent) {
    const fork_join::heritage given = join_.suspend(parent);
    for (std::size_t i = children_.size() - 1; i != 0; --i)
      join_.add(fork_access::strand_of(children_[i]), given);
    return join_.start(fork_access::strand_of(children_.front()), given, nested(parent));
  }
  auto await_resume() {
    if constexpr (std::is_same_v<typename Children::value_type, task<void>>) {
      for (const task<void>& ended : children_) fork_access::take(ended);
    } else {
      return values_of(children_);
    }
  }

 private:
  Children children_;
  fork_join join_;
};

template <class Range> struct task_range;
template <class Range>
  requires std::ranges::input_range<Range>
struct task_range<Range> {
  template <class T> static T of(const task<T>&);
  using value = decltype(of(std::declval<std::ranges::range_value_t<Range>&>()));
};

/// The container in which `when_all` keeps the tasks of a range.
template <class Range, class T> struct kept_children {
  using type = std::vector<task<T>>;
};
template <class T, std::size_t N> struct kept_children<std::array<task<T>, N>, T> {
  using type = std::array<task<T>, N>;
};
template <class T, std::size_t Most> struct kept_children<bounded_vector<task<T>, Most>, T> {
  using type = bounded_vector<task<T>, Most>;
};

} // namespace detail

/// `auto [a, b] = co_await when_all(f(), g())`: runs all of them, at the same time where workers are free.
/// The await returns their values when all have ended (`std::monostate` for `void`; nothing if all are
/// `void`), or throws the leftmost exception then. The calling worker runs them from left to right; idle
/// workers take from the right. Call in an engine's tasks only, else it throws `std::logic_error`. Cost: a
/// fence for all, and one for each child, besides the children's frames; a few locked instructions for a child
/// that another worker took. Allocates nothing. Source of the deque: Chase and Lev, SPAA 2005.
template <class... T>
  requires(sizeof...(T) != 0)
detail::all_of<T...> when_all(task<T>... children) noexcept {
  return detail::all_of<T...>(std::move(children)...);
}

/// Acts as above for a range of `task<T>`, which is moved from. The await returns a `std::vector<T>`, or
/// nothing for `task<>`. For a `std::array` or a `bounded_vector` it returns another such one, and allocates
/// nothing. (GCC 12 copies `std::array{f(), g()}` within a `co_await`, which it must not: name the array and
/// move it.) Throws `std::bad_alloc`.
template <std::ranges::input_range Range> auto when_all(Range&& children) {
  using T = typename detail::task_range<Range>::value;
  using kept = typename detail::kept_children<std::remove_cvref_t<Range>, T>::type;
  if constexpr (std::is_same_v<std::remove_cvref_t<Range>, kept>) {
    kept& all = children;
    return detail::all_of_range<kept>(std::move(all));
  } else {
    kept all;
    if constexpr (std::ranges::sized_range<Range>) all.reserve(std::ranges::size(children));
    detail::move_tasks(children, all);
    return detail::all_of_range<kept>(std::move(all));
  }
}

/// Acts as above for a range of at most `Most` tasks, and allocates nothing:
/// `co_await when_all<10>(std::views::iota(0, n) | std::views::transform(child))`. The await returns a
/// `bounded_vector<T, Most>`, or nothing for `task<>`. If the range has more tasks, throws
/// `std::length_error`, and runs none.
template <std::size_t Most, std::ranges::input_range Range>
auto when_all(Range&& children)
    -> detail::all_of_range<bounded_vector<task<typename detail::task_range<Range>::value>, Most>> {
  return {std::forward<Range>(children), std::in_place};
}

} // namespace corewise
