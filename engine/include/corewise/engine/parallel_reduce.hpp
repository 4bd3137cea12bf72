#pragma once

#include <corewise/engine/detail/loop.hpp>
#include <corewise/engine/detail/loop_blocks.hpp>

#include <optional>

namespace corewise {

namespace detail {

/// The partial result of one worker, for elements that stand side by side.
template <class T> struct partial : loop_piece {
  std::optional<T> value;
};

/// Combines `sum` with `f` of each element.
struct reduce_one_by_one {
  template <class T, class Position, class F, class Combine>
  static void add(std::optional<T>& sum, Position from, const Position& to, F& f, Combine& combine) {
    if (!sum) sum.emplace(f(element(from))), ++from;
    T value = *std::move(sum);
    for (; from != to; ++from) value = combine(std::move(value), f(element(from)));
    sum = std::move(value);
  }
};

/// Combines `sum` with `f` of the whole range.
struct reduce_by_ranges {
  template <class T, class Position, class F, class Combine>
  static void add(std::optional<T>& sum, Position from, const Position& to, F& f, Combine& combine) {
    if (sum)
      sum = combine(*std::move(sum), f(range_between(std::move(from), to)));
    else
      sum.emplace(f(range_between(std::move(from), to)));
  }
};

template <class Position, class How, class T, class F, class Combine, bool Stops>
class [[nodiscard]] reduce_loop final : public loop_of<partial<T>> {
 public:
  reduce_loop(positions<Position> all, T init, F f, Combine combine, std::stop_token stop)
      : loop_of<partial<T>>(all.size, std::move(stop), all.shares),
        all_(std::move(all)),
        init_(std::move(init)),
        f_(std::move(f)),
        combine_(std::move(combine)) {}

  bool await_ready() const noexcept { return all_.size == 0; }
  template <class Promise> std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> parent) {
    return this->start(parent);
  }
  std::conditional_t<Stops, std::optional<T>, T> await_resume() {
    const bool all = this->complete();
    if constexpr (Stops)
      if (!all) return std::nullopt;
    for (loop_piece* p = &this->first_piece(); p != nullptr; p = p->next)
      if (std::optional<T>& sum = static_cast<partial<T>*>(p)->value)
        init_ = combine_(std::move(init_), *std::move(sum));
    return std::move(init_);
  }

 private:
  void run(loop_piece& in, std::uint64_t from, std::uint64_t to) override {
    How::add(static_cast<partial<T>&>(in).value, all_[from], all_[to], f_, combine_);
  }

  positions<Position> all_;
  T init_;
  F f_;
  Combine combine_;
};

} // namespace detail

/// `T sum = co_await parallel_reduce(range, init, f, combine)`: computes `combine(init, f(a))`, then
/// `combine` of that and `f(b)`, and so on, for all elements in their order. `combine` is a function of two
/// `T`. It must be associative, for the elements are cut into parts, but need not be commutative. `init`
/// counts once, before all. Several workers call `f` and `combine` at the same time.
///
/// The places of the cuts depend on which workers were free. So results of a `combine` that is not exactly
/// associative, such as sums of floating-point numbers, differ in their last digits from run to run. Shape,
/// exceptions and cost are those of `parallel_for`; parts that another worker took are combined at the end,
/// one after the other.
template <detail::loop_range Range, class T, class F, class Combine>
auto parallel_reduce(Range&& range, T init, F f, Combine combine) {
  return detail::reduce_loop<std::ranges::iterator_t<Range>, detail::reduce_one_by_one, T, F, Combine, false>(
      detail::positions_of(std::forward<Range>(range)), std::move(init), std::move(f), std::move(combine),
      {});
}
/// Acts as above, until `stop` is told to stop; then the await returns nothing.
template <detail::loop_range Range, class T, class F, class Combine>
auto parallel_reduce(Range&& range, T init, F f, Combine combine, std::stop_token stop) {
  return detail::reduce_loop<std::ranges::iterator_t<Range>, detail::reduce_one_by_one, T, F, Combine, true>(
      detail::positions_of(std::forward<Range>(range)), std::move(init), std::move(f), std::move(combine),
      std::move(stop));
}

/// Acts as above, from `first` up to `last`, whole numbers or iterators.
template <class First, class Last, class T, class F, class Combine,
          class Position = typename detail::common_position<First, Last>::type>
auto parallel_reduce(First first, Last last, T init, F f, Combine combine) {
  return detail::reduce_loop<Position, detail::reduce_one_by_one, T, F, Combine, false>(
      detail::positions_between<Position>(detail::position_at<Position>(first),
                                          detail::position_at<Position>(last)),
      std::move(init), std::move(f), std::move(combine), {});
}
template <class First, class Last, class T, class F, class Combine,
          class Position = typename detail::common_position<First, Last>::type>
auto parallel_reduce(First first, Last last, T init, F f, Combine combine, std::stop_token stop) {
  return detail::reduce_loop<Position, detail::reduce_one_by_one, T, F, Combine, true>(
      detail::positions_between<Position>(detail::position_at<Position>(first),
                                          detail::position_at<Position>(last)),
      std::move(init), std::move(f), std::move(combine), std::move(stop));
}

/// Acts as above; `f(part)` returns the result of a whole part: `blocked(range)`, `blocked(first, last)`. So
/// `f` may add in an order that suits the processor better.
template <class Position, class T, class F, class Combine>
auto parallel_reduce(blocked_positions<Position> all, T init, F f, Combine combine) {
  return detail::reduce_loop<Position, detail::reduce_by_ranges, T, F, Combine, false>(
      std::move(all.all), std::move(init), std::move(f), std::move(combine), {});
}
template <class Position, class T, class F, class Combine>
auto parallel_reduce(blocked_positions<Position> all, T init, F f, Combine combine, std::stop_token stop) {
  return detail::reduce_loop<Position, detail::reduce_by_ranges, T, F, Combine, true>(
      std::move(all.all), std::move(init), std::move(f), std::move(combine), std::move(stop));
}

} // namespace corewise
