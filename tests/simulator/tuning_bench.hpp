#pragma once

#include <corewise/engine/profile_text.hpp>
#include <corewise/simulator/random_stream.hpp>
#include <corewise/simulator/tune.hpp>
#include <corewise/topology/discovery.hpp>

#include <cmath>
#include <functional>
#include <string>

namespace corewise::tests {

inline profile on_machine(const std::string& synthetic) {
  profile p;
  p.topology.machine.source = synthetic_source{synthetic};
  return p;
}

/// Two packages of two caches, with ten fast and ten slow cores below each.
inline profile on_two_packages() {
  profile p = on_machine("pack:2 numa:1 l3:2 core:20 pu:1");
  p.topology.machine.kinds = {{*cpu_set::parse("0-9,20-29,40-49,60-69"), "P", 1024},
                              {*cpu_set::parse("10-19,30-39,50-59,70-79"), "E", 512}};
  return p;
}

inline std::vector<tuned_field> fields_of(const profile& p) {
  return tuned_fields(p, discover(p.topology.machine));
}

inline profile two_workers() {
  profile p;
  p.workers.total = 2;
  return p;
}

/// An engine for the runs of all tests.
inline engine& bench_engine() {
  static engine e(two_workers());
  return e;
}

/// A number of a distribution with mean 0 and deviation 1, the same for the same seed and name.
inline double noise_of(std::uint64_t seed, std::uint64_t name) { return random_stream(seed, name).normal(); }

/// Figures that are all exp(cost).
inline tuning_figures all_figures(double cost) {
  return {1e6 * std::exp(cost), std::exp(cost), std::exp(cost)};
}

inline double squared(double x) { return x * x; }
/// How far a value is from the best one, as a factor; squared.
inline double off(double value, double best) { return squared(std::log(value / best)); }

} // namespace corewise::tests
