#pragma once

#include "counts.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace corewise::tests {

inline constexpr std::uint64_t first_seed = 4711;
inline constexpr std::uint32_t repetitions = 10;

inline constexpr auto times_as_many = count_of<std::uint64_t>(1, 10);

/// The result of independent repetitions: their mean, and how far from it the truth is at most, but for one
/// case in a thousand.
struct interval {
  double mean = 0;
  double half = 0;
};

/// Repeats `measure(seed)`. Source: Student's t; 99.9% of both sides, 9 degrees of freedom.
template <class Measure> interval repeat(const Measure& measure) {
  constexpr double student = 4.781;
  static_assert(repetitions == 10);
  double sum = 0, squares = 0;
  for (std::uint64_t i = 0; i < repetitions; ++i) {
    const double x = measure(first_seed + i);
    sum += x, squares += x * x;
  }
  const double mean = sum / repetitions;
  const double variance = std::max(0.0, squares - sum * mean) / (repetitions - 1);
  return {mean, student * std::sqrt(variance / repetitions)};
}

/// Checks that the interval contains the theory's value and is narrow enough. `tolerance` is how wrong the
/// theory itself may be, `sharp` how wide the interval may be; both are shares of the value.
inline void check_contains(const interval& found, double theory, double tolerance, double sharp) {
  INFO("seeds from ", first_seed, ": ", found.mean, " +- ", found.half, ", theory ", theory);
  CHECK(std::abs(found.mean - theory) <= found.half + tolerance * theory);
  CHECK(found.half <= sharp * theory); // else it says nothing
}

} // namespace corewise::tests
