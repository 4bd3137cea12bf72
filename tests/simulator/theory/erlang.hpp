#pragma once

#include <cstdint>

namespace corewise::tests {

/// The share of tasks that wait, where independent arrivals with exponential service meet n servers with one queue, each
/// offered `load`. Source: Erlang (1917); C by way of B, whose recurrence loses no digits.
inline double erlang_c(std::uint32_t n, double load) {
  double b = 1;
  for (std::uint32_t k = 1; k <= n; ++k) b = n * load * b / (k + n * load * b);
  return b / (1 - load * (1 - b));
}

/// The mean response time there, in service times.
inline double response_of_many(std::uint32_t n, double load) {
  return 1 + erlang_c(n, load) / (n * (1 - load));
}

} // namespace corewise::tests
