#pragma once

#include <corewise/engine/detail/loop.hpp>
#include <corewise/engine/detail/loop_blocks.hpp>
#include <corewise/engine/detail/task_header.hpp>

#include <type_traits>
#include <utility>

namespace corewise {

namespace detail {

/// Calls `f`, whose result goes.
template <class F, class Argument> void call_in_loop(F& f, Argument&& argument) {
  using result = std::invoke_result_t<F&, Argument>;
  static_assert(!is_task<std::remove_cvref_t<result>>,
                "the callable returns a task, which would never run: use when_all over the tasks");
  static_cast<void>(f(std::forward<Argument>(argument)));
}

/// Calls `f` for each element by itself.
struct one_by_one {
  template <class Position, class F> static void call(F& f, Position from, const Position& to) {
    for (; from != to; ++from) call_in_loop(f, element(from));
  }
};

/// Calls `f` for a range of elements at once.
struct by_ranges {
  template <class Position, class F> static void call(F& f, Position from, const Position& to) {
    call_in_loop(f, range_between(std::move(from), to));
  }
};

template <class Position, class How, class F, bool Stops>
class [[nodiscard]] for_loop final : public loop_of<loop_piece> {
 public:
  for_loop(positions<Position> all, F f, std::stop_token stop)
      : loop_of(all.size, std::move(stop), all.shares),
        all_(std::move(all)),
        f_(std::move(f)) {}

  bool await_ready() const noexcept { return all_.size == 0; }
  template <class Promise> std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> parent) {
    return start(parent);
  }
  auto await_resume() const {
    const bool all = complete();
    if constexpr (Stops) return all;
  }

 private:
  void run(loop_piece& /*in*/, std::uint64_t from, std::uint64_t to) override {
    How::call(f_, all_[from], all_[to]);
  }

  positions<Position> all_;
  F f_;
};

} // namespace detail

/// `co_await parallel_for(first, last, f)`: calls `f(i)` for each whole number from `first` up to `last`, or
/// `f(*i)` for each iterator, on as many workers as are free. `f` is one object for all workers. Several of
/// them call it at the same time, in no order on which to rely. It should not block for long, else within
/// `corewise::blocking`. (GCC 12 destroys a lambda twice that is written within a `co_await` and holds
/// something with a destructor: give such a lambda a name first.)
///
/// The first exception that leaves `f` ends the loop, as soon as each worker has come to the end of the part
/// that it has begun. Then the await throws it. Call in an engine's tasks only, else it throws
/// `std::logic_error`. Throws `std::invalid_argument` itself for a number below 0 beside one without a sign.
///
/// The caller need not say how many elements a worker should do at once. A loop that is over within some 10
/// us stays on the calling worker. In a longer loop other workers can take half of the rest at any time, and
/// where the machine has several groups each group gets a share in proportion to its workers' capacity. Other
/// tasks have their turn about every 200 us, or after each element that takes longer.
///
/// Cost: two looks at the clock for a short loop; in a longer one some 50 ns for every 10 us of work, and the
/// cost of a fork for each part that another worker takes. Allocates recycled blocks, one for such a part,
/// and some for the groups' shares, which are allocated plainly where there are more than 32 groups. Source:
/// A. Tzannes, G. Caragea, R. Barua and U. Vishkin, Lazy binary-splitting, PPoPP 2010,
/// doi:10.1145/1693453.1693479.
template <class First, class Last, class F,
          class Position = typename detail::common_position<First, Last>::type>
auto parallel_for(First first, Last last, F f) {
  return detail::for_loop<Position, detail::one_by_one, F, false>(
      detail::positions_between<Position>(detail::position_at<Position>(first),
                                          detail::position_at<Position>(last)),
      std::move(f), {});
}
/// Acts as above, until `stop` is told to stop. The await returns whether `f` was called for all elements.
template <class First, class Last, class F,
          class Position = typename detail::common_position<First, Last>::type>
auto parallel_for(First first, Last last, F f, std::stop_token stop) {
  return detail::for_loop<Position, detail::one_by_one, F, true>(
      detail::positions_between<Position>(detail::position_at<Position>(first),
                                          detail::position_at<Position>(last)),
      std::move(f), std::move(stop));
}

/// Acts as above for each element of a random access range, which must not be a temporary that owns them.
template <detail::loop_range Range, class F> auto parallel_for(Range&& range, F f) {
  return detail::for_loop<std::ranges::iterator_t<Range>, detail::one_by_one, F, false>(
      detail::positions_of(std::forward<Range>(range)), std::move(f), {});
}
template <detail::loop_range Range, class F> auto parallel_for(Range&& range, F f, std::stop_token stop) {
  return detail::for_loop<std::ranges::iterator_t<Range>, detail::one_by_one, F, true>(
      detail::positions_of(std::forward<Range>(range)), std::move(f), std::move(stop));
}

/// Calls `f(part)` for parts that cover all elements: `blocked(range)`, `blocked(first, last)`.
template <class Position, class F> auto parallel_for(blocked_positions<Position> all, F f) {
  return detail::for_loop<Position, detail::by_ranges, F, false>(std::move(all.all), std::move(f), {});
}
template <class Position, class F>
auto parallel_for(blocked_positions<Position> all, F f, std::stop_token stop) {
  return detail::for_loop<Position, detail::by_ranges, F, true>(std::move(all.all), std::move(f),
                                                                std::move(stop));
}

} // namespace corewise
