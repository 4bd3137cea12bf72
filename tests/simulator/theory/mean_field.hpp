#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

// The limit of infinitely many workers where a task goes to the lightest of d drawn workers: shares[k] is the
// share of the workers that have k tasks or more. Source: Mitzenmacher, "The power of two choices in
// randomized load balancing", doi:10.1109/71.963420; Vvedenskaya, Dobrushin and Karpelevich (1996).

namespace corewise::tests {

/// The number by which drawn workers are compared.
enum class counted : std::uint8_t {
  all,     ///< waiting and running tasks: the classic rule
  waiting, ///< waiting tasks, as `two_choices` does: an idle worker equals one whose only task runs
};

/// The limit of the mean response time of the classic rule, in service times.
inline double response_of_choices(double load, std::uint32_t d) {
  double sum = 0;
  for (int i = 1; i < 200; ++i) sum += std::pow(load, (std::pow(d, i) - d) / (d - 1.0));
  return sum;
}

/// How often per worker and unit of time a task comes to one that has exactly k tasks.
inline double arrivals_at(const std::vector<double>& shares, std::size_t k, double load, std::uint32_t d,
                          counted what) {
  const bool alike = what == counted::waiting && k < 2; // 0 and 1 tasks: nothing waits
  const double least = alike ? 1 : shares[k];
  const double beyond = shares[alike ? 2 : k + 1];
  if (least <= beyond) return 0;
  const double to_all_alike = std::pow(least, d) - std::pow(beyond, d);
  return load * to_all_alike * (shares[k] - shares[k + 1]) / (least - beyond);
}

/// The shares at which the differential equations stand still. It follows the equations until they do.
inline std::vector<double> standing_shares(double load, std::uint32_t d, counted what) {
  constexpr double step = .1;
  std::vector<double> shares(40), change(40);
  shares[0] = 1;
  double moved = 1;
  while (moved > 1e-12) {
    for (std::size_t k = 1; k + 1 < shares.size(); ++k)
      change[k] = arrivals_at(shares, k - 1, load, d, what) - (shares[k] - shares[k + 1]);
    moved = 0;
    for (std::size_t k = 1; k + 1 < shares.size(); ++k) {
      shares[k] += step * change[k];
      moved = std::max(moved, std::abs(change[k]));
    }
  }
  return shares;
}

/// Little's law: tasks per worker over arrivals per worker.
inline double mean_field_response(double load, std::uint32_t d, counted what) {
  const std::vector<double> shares = standing_shares(load, d, what);
  double tasks = 0;
  for (std::size_t k = 1; k < shares.size(); ++k) tasks += shares[k];
  return tasks / load;
}

/// The shares of bins by how full they are, after as many balls as bins were thrown, each into the least full
/// of d bins.
inline std::vector<double> filled_shares(std::uint32_t d) {
  constexpr int steps = 20'000;
  std::vector<double> shares(30);
  shares[0] = 1;
  for (int i = 0; i < steps; ++i)
    for (std::size_t k = shares.size() - 1; k > 0; --k)
      shares[k] += (std::pow(shares[k - 1], d) - std::pow(shares[k], d)) / steps;
  return shares;
}

/// The mean of the fullest of n bins, as if they were independent.
inline double mean_of_fullest(std::uint32_t n, std::uint32_t d) {
  const std::vector<double> shares = filled_shares(d);
  double sum = 0;
  for (std::size_t k = 1; k < shares.size(); ++k) sum += 1 - std::pow(1 - shares[k], n);
  return sum;
}

} // namespace corewise::tests
