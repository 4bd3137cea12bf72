#pragma once

#include <cstdint>

// Mean response times where tasks come independently, in mean service times.

namespace corewise::tests {

/// The share of tasks that wait, where exponential service is given by n workers with one queue, each offered
/// `load`. Source: Erlang (1917); C by way of B, whose recurrence loses no digits.
inline double erlang_c(std::uint32_t n, double load) {
  double b = 1;
  for (std::uint32_t k = 1; k <= n; ++k) b = n * load * b / (k + n * load * b);
  return b / (1 - load * (1 - b));
}

inline double response_of_many(std::uint32_t n, double load) {
  return 1 + erlang_c(n, load) / (n * (1 - load));
}

/// One worker and any service; `deviation` is the standard deviation over the mean. Source: Pollaczek (1930),
/// Khinchine (1932).
inline double response_of_one(double load, double deviation) {
  return 1 + load * (1 + deviation * deviation) / (2 * (1 - load));
}

/// One worker with exponential service that sleeps whenever it has nothing, and takes a fixed time to wake
/// up. Source: Welch, "On a generalized M/G/1 queuing process in which the first customer of each busy period
/// receives exceptional service", doi:10.1287/opre.12.5.736.
inline double response_of_sleeper(double load, double wake_up) {
  return 1 / (1 - load) + (2 * wake_up + load * wake_up * wake_up) / (2 * (1 + load * wake_up));
}

} // namespace corewise::tests
