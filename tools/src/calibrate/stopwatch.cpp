#include "stopwatch.hpp"

#include "spread.hpp"

#include <algorithm>

namespace corewise::command {

double clock_cost() {
  static const double cost = [] {
    std::vector<double> samples;
    for (int i = 0; i < 1000; ++i) {
      const steady_time first = now();
      samples.push_back(ns_between(first, now()));
    }
    return spread_of(std::move(samples))->median;
  }();
  return cost;
}

double ns_without_clock(steady_time from, steady_time to) {
  return std::max(0.0, ns_between(from, to) - clock_cost());
}

} // namespace corewise::command
