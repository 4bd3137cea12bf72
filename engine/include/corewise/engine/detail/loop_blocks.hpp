#pragma once

#include <corewise/engine/detail/loop.hpp>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <iterator>
#include <ranges>
#include <stdexcept>
#include <type_traits>

// The sequences that parallel loops go through: whole numbers, or the elements to which random access
// iterators point.

namespace corewise {

namespace detail {

template <class I>
concept loop_number = std::integral<I> && !std::same_as<I, bool>;
/// A position at which a loop may begin.
template <class P>
concept loop_position = loop_number<P> || std::random_access_iterator<P>;
template <class A, class B> struct common_position;
template <loop_number A, loop_number B> struct common_position<A, B> : std::common_type<A, B> {};
template <std::random_access_iterator P> struct common_position<P, P> {
  using type = P;
};
template <class Range>
concept loop_range = std::ranges::random_access_range<Range> && std::ranges::sized_range<Range> &&
                     std::ranges::borrowed_range<Range>; // its end must not end the elements

/// Returns an end of a loop in the type of its positions. Throws `std::invalid_argument` for a number below 0 where
/// the other end has no sign.
template <loop_position Position, class End> constexpr Position position_at(End end) {
  if constexpr (loop_number<End> && std::is_signed_v<End> && std::is_unsigned_v<Position>)
    if (end < 0) throw std::invalid_argument("a loop whose other end is unsigned begins or ends below 0");
  return static_cast<Position>(end);
}

/// The positions from `first` on, by their numbers.
template <loop_position Position> struct positions {
  Position first;
  std::uint64_t size;
  const loop_share_list* shares = nullptr; ///< how they are dealt over the groups, if that is laid down

  Position operator[](std::uint64_t n) const {
    if constexpr (loop_number<Position>)
      return static_cast<Position>(static_cast<std::uint64_t>(first) + n); // modulo 2^64
    else
      return first + static_cast<std::iter_difference_t<Position>>(n);
  }
};

template <loop_position Position> positions<Position> positions_between(Position first, Position last) {
  if constexpr (loop_number<Position>)
    return {first, last < first ? 0 : static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first)};
  else
    return {first, static_cast<std::uint64_t>(std::max<std::iter_difference_t<Position>>(0, last - first))};
}

template <loop_range Range> positions<std::ranges::iterator_t<Range>> positions_of(Range&& range) {
  const loop_share_list* shares = nullptr;
  if constexpr (requires { range.loop_shares(); }) shares = &range.loop_shares();
  return {std::ranges::begin(range), static_cast<std::uint64_t>(std::ranges::size(range)), shares};
}

/// Returns the element at a position.
template <loop_position Position> decltype(auto) element(const Position& at) {
  if constexpr (loop_number<Position>)
    return Position{at};
  else
    return *at;
}

/// Returns the range of positions from `first` up to `last`.
template <loop_position Position> auto range_between(Position first, Position last) {
  if constexpr (loop_number<Position>)
    return std::ranges::iota_view<Position, Position>(first, last);
  else
    return std::ranges::subrange<Position>(first, last);
}

} // namespace detail

/// The positions of a loop whose body is called for ranges of elements, not for each: see `blocked`.
template <detail::loop_position Position> struct blocked_positions {
  detail::positions<Position> all;
};

/// `parallel_for(blocked(range), f)`: calls `f` with parts of the range, one after another and as long as is
/// worth it, so that `f` may keep what it needs for many elements. A part is a `std::ranges::subrange` of the
/// range's iterators.
template <detail::loop_range Range> auto blocked(Range&& range) {
  return blocked_positions<std::ranges::iterator_t<Range>>{detail::positions_of(std::forward<Range>(range))};
}
/// Does the same from `first` up to `last`; a part of whole numbers is a `std::ranges::iota_view`.
template <class First, class Last, class Position = typename detail::common_position<First, Last>::type>
blocked_positions<Position> blocked(First first, Last last) {
  return {detail::positions_between<Position>(detail::position_at<Position>(first),
                                              detail::position_at<Position>(last))};
}

} // namespace corewise
