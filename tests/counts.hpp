#pragma once

// How often a test does something: as often as shows the fault in most runs, or, with `./test --long`, in nearly all.

#include <cstddef>
#include <iterator>
#include <span>

namespace corewise::tests {

template <class Number>
constexpr Number count_of([[maybe_unused]] Number usual, [[maybe_unused]] Number full) {
#ifdef COREWISE_LONG
  return full;
#else
  return usual;
#endif
}

/// The first `usual` of these, or all.
template <class Range> constexpr auto first_of(const Range& all, std::size_t usual) {
  return std::span(all).first(count_of(usual, std::size(all)));
}

} // namespace corewise::tests
