#pragma once

// How often a test does something: as often as shows the fault in most runs, or, with `./test --long`, in nearly all.

namespace corewise::tests {

template <class Number>
constexpr Number count_of([[maybe_unused]] Number usual, [[maybe_unused]] Number full) {
#ifdef COREWISE_LONG
  return full;
#else
  return usual;
#endif
}

} // namespace corewise::tests
