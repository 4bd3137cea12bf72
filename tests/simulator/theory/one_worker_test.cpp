#include "formulas.hpp"
#include "interval.hpp"
#include "simulated.hpp"

#include <cmath>

// One worker: how its response time depends on the spread of service times, and on what things cost.

using namespace corewise;
using namespace corewise::tests;

namespace {

constexpr double load = .5;
const path_length length{150'000 * times_as_many};

interval response_of(const workload& w, const machine_costs& costs) {
  const profile p = no_stealing("core:1 pu:1", "nearest_lightest");
  simulated_machine m(p);
  m.costs = costs;
  return repeat([&](std::uint64_t seed) {
    return simulate(p, m, w, options_of(length, seed)).response.mean() / w.service.mean();
  });
}

} // namespace

TEST_CASE("theory: one worker has the response time of Pollaczek and Khinchine, for all service times") {
  using kind = service_time::kind;
  workload fixed = poisson(load);
  fixed.service.shape = kind::fixed;
  check_contains(response_of(fixed, no_costs()), response_of_one(load, 0), 0, .02);

  workload lognormal = poisson(load);
  lognormal.service.shape = kind::lognormal;
  lognormal.service.deviation = 2;
  check_contains(response_of(lognormal, no_costs()), response_of_one(load, 2), 0, .07);

  workload bimodal = poisson(load);
  bimodal.service = {.shape = kind::bimodal, .mean_ns = 1e6, .rare_ns = 2e7, .rare_share = .02};
  const double mean = .98 + .02 * 20;
  const double deviation = std::sqrt(.98 + .02 * 400 - mean * mean) / mean;
  REQUIRE(bimodal.service.mean() == doctest::Approx(mean * 1e6));
  check_contains(response_of(bimodal, no_costs()), response_of_one(load, deviation), 0, .05);
}

TEST_CASE("theory: the cost of going to the next task lengthens every service") {
  machine_costs costs = no_costs();
  costs.run = .15 * service_ns;
  // A task's line is with the thread outside, in the same group. The line of the inbox's end, which comes
  // once for several tasks that wait, costs nothing here.
  costs.transfer = {.05 * service_ns, 0, 0, 0, 0};
  const double service = 1.2;
  const double theory = service * response_of_one(load * service, 1 / service);
  check_contains(response_of(poisson(load), costs), theory, 0, .03);
}

TEST_CASE("theory: a worker that sleeps whenever it can also delays tasks that come meanwhile") {
  machine_costs costs = no_costs();
  costs.wake_up = 3 * service_ns;
  check_contains(response_of(poisson(load), costs), response_of_sleeper(load, 3), 0, .02);
}
