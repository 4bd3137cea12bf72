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
concept loop_place = loop_number<P> || std::random_access_iterator<P>;
template <class A, class B> struct common_place;
template <loop_number A, loop_number B> struct common_place<A, B> : std::common_type<A, B> {};
template <std::random_access_iterator P> struct common_place<P, P> {
  using type = P;
};
template <class Range>
concept loop_range = std::ranges::random_access_range<Range> && std::ranges::sized_range<Range> &&
                     std::ranges::borrowed_range<Range>; // its end must not end the elements

/// Returns an end of a loop in the type of its positions. Throws `std::invalid_argument` for a number below 0 where
/// the other end has no sign.
template <loop_place Place, class End> constexpr Place place_at(End end) {
  if constexpr (loop_number<End> && std::is_signed_v<End> && std::is_unsigned_v<Place>)
    if (end < 0) throw std::invalid_argument("a loop whose other end is unsigned begins or ends below 0");
  return static_cast<Place>(end);
}

/// The positions from `first` on, by their numbers.
template <loop_place Place> struct places {
  Place first;
  std::uint64_t size;
  const loop_share_list* shares = nullptr; ///< how they are dealt over the groups, if that is laid down

  Place operator[](std::uint64_t n) const {
    if constexpr (loop_number<Place>)
      return static_cast<Place>(static_cast<std::uint64_t>(first) + n); // modulo 2^64
    else
      return first + static_cast<std::iter_difference_t<Place>>(n);
  }
};

template <loop_place Place> places<Place> places_between(Place first, Place last) {
  if constexpr (loop_number<Place>)
    return {first, last < first ? 0 : static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first)};
  else
    return {first, static_cast<std::uint64_t>(std::max<std::iter_difference_t<Place>>(0, last - first))};
}

template <loop_range Range> places<std::ranges::iterator_t<Range>> places_of(Range&& range) {
  const loop_share_list* shares = nullptr;
  if constexpr (requires { range.loop_shares(); }) shares = &range.loop_shares();
  return {std::ranges::begin(range), static_cast<std::uint64_t>(std::ranges::size(range)), shares};
}

/// Returns the element at a position.
template <loop_place Place> decltype(auto) element(const Place& at) {
  if constexpr (loop_number<Place>)
    return Place{at};
  else
    return *at;
}

/// Returns the range of positions from `first` up to `last`.
template <loop_place Place> auto range_between(Place first, Place last) {
  if constexpr (loop_number<Place>)
    return std::ranges::iota_view<Place, Place>(first, last);
  else
    return std::ranges::subrange<Place>(first, last);
}

} // namespace detail

/// The positions of a loop whose body is called for ranges of elements, not for each: see `blocked`.
template <detail::loop_place Place> struct blocked_places {
  detail::places<Place> all;
};

/// `parallel_for(blocked(range), f)`: calls `f` with parts of the range, one after another and as long as is
/// worth it, so that `f` may keep what it needs for many elements. A part is a `std::ranges::subrange` of the
/// range's iterators.
template <detail::loop_range Range> auto blocked(Range&& range) {
  return blocked_places<std::ranges::iterator_t<Range>>{detail::places_of(std::forward<Range>(range))};
}
/// Does the same from `first` up to `last`; a part of whole numbers is a `std::ranges::iota_view`.
template <class First, class Last, class Place = typename detail::common_place<First, Last>::type>
blocked_places<Place> blocked(First first, Last last) {
  return {detail::places_between<Place>(detail::place_at<Place>(first), detail::place_at<Place>(last))};
}

} // namespace corewise
