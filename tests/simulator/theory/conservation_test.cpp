#include "formulas.hpp"
#include "interval.hpp"
#include "simulated.hpp"

// Laws that hold under every policy: Little's law, and, where moving tasks costs nothing and no worker idles
// while a task waits, the response time of M/M/n.

using namespace corewise;
using namespace corewise::tests;

namespace {

/// A profile whose thieves take any task that waits, from anywhere. Searchers, and how long they search, are
/// as in the defaults.
profile free_thieves(const std::string& machine, std::string_view policy) {
  profile p;
  use_machine(p.topology.machine, machine);
  p.dispatch.policy = policy;
  p.dispatch.weights.spill = {0, 0, 0, 0};
  p.steal.minimum_at = {1, 1, 1};
  p.queues.inbox = {};
  return p;
}

/// A profile whose thieves also search all at once, and sleep as soon as they have found nothing.
profile eager_thieves(const std::string& machine, std::string_view policy) {
  profile p = free_thieves(machine, policy);
  p.idle.searchers_per_mille = 1000;
  p.idle.spin = std::chrono::nanoseconds{0};
  return p;
}

/// The response on the same arrivals as one queue for all meets, whose mean theory knows. What is left is the
/// order of tasks.
interval response_of(const profile& p, std::uint32_t workers, double load, const path_length& length) {
  const simulated_machine m = free_of_cost(p);
  REQUIRE(m.workers.size() == workers);
  const std::vector<double> speeds(workers, 1.0);
  interval found = repeat([&](std::uint64_t seed) {
    return simulated_response(p, m, load, length, seed) -
           path_response(load, seed, speeds, one_queue{}, length);
  });
  found.mean += response_of_many(workers, load);
  return found;
}

} // namespace

TEST_CASE("theory: with stealing and without costs every policy has the response times of M/M/n") {
  for (const std::string_view policy : policy_names()) {
    CAPTURE(policy);
    const profile p = eager_thieves("core:8 pu:1", policy);
    check_contains(response_of(p, 8, .9, {60'000 * times_as_many}), response_of_many(8, .9), 0, .01);
  }
}

TEST_CASE("theory: with stealing and without costs the response times are those of M/M/n across sockets and "
          "caches") {
  for (const char* policy : {"nearest_lightest", "random", "round_robin"}) {
    CAPTURE(policy);
    const profile p = eager_thieves("pack:2 numa:1 l3:2 core:4 pu:1", policy);
    check_contains(response_of(p, 16, .8, {60'000 * times_as_many}), response_of_many(16, .8), 0, .01);
  }
}

TEST_CASE("theory: with stealing and without costs the response times are those of M/M/n with the default "
          "bound on searchers") {
  for (const std::string_view policy : policy_names()) {
    CAPTURE(policy);
    check_contains(response_of(free_thieves("core:8 pu:1", policy), 8, .9, {60'000 * times_as_many}),
                   response_of_many(8, .9), 0, .01);
  }
  const profile apart = free_thieves("pack:2 numa:1 l3:2 core:4 pu:1", "nearest_lightest");
  check_contains(response_of(apart, 16, .8, {60'000 * times_as_many}), response_of_many(16, .8), 0, .01);
}

TEST_CASE("theory: with stealing and without costs no worker idles while a task waits") {
  for (const std::string_view policy : policy_names())
    for (const std::string machine : {"core:8 pu:1", "pack:2 numa:1 l3:2 core:4 pu:1"})
      for (const profile& p : {eager_thieves(machine, policy), free_thieves(machine, policy)})
        for (const std::string w :
             {"poisson,load=.9,service=exp:1ms", "mmpp,load=.6,burst=20,service=pareto:100us:2.2",
              "closed,clients=20,think=exp:10us,service=lognormal:1ms:2",
              "poisson,load=.7,service=exp:20us,from=worker",
              "poisson,load=.8,service=exp:50us,class=background",
              "fork-join,load=.8,depth=3,fanout=4,service=exp:100us"}) {
          CAPTURE(policy);
          CAPTURE(machine);
          CAPTURE(p.idle.searchers_per_mille);
          CAPTURE(w);
          const simulation_result found = simulate(p, free_of_cost(p), parse_workload(w),
                                                   options_of({20'000 * times_as_many, 0}, first_seed));
          CHECK(found.idle_beside_work_ns == 0);
        }
}

TEST_CASE("theory: the test sees a worker idle that may not take a waiting task") {
  const auto idled = [](const profile& p) {
    return simulate(p, free_of_cost(p), poisson(.8), options_of({20'000, 0}, first_seed)).idle_beside_work_ns;
  };
  profile never = free_thieves("core:8 pu:1", "random");
  never.steal.policy = "none";
  CHECK(idled(never) > 0);
  profile seldom = free_thieves("pack:2 numa:1 l3:2 core:4 pu:1", "random");
  seldom.steal.minimum_at = {2, 4, 8};
  CHECK(idled(seldom) > 0);
}

TEST_CASE("theory: Little's law holds for all costs") {
  for (const std::string_view policy : policy_names())
    for (const double load : {.3, .8}) {
      profile p;
      use_machine(p.topology.machine, "pack:2 numa:1 l3:2 core:4 pu:1");
      p.dispatch.policy = policy;
      workload w = poisson(load);
      w.service.mean_ns = 20'000;
      const simulation_result found =
          simulate(p, simulated_machine(p), w, options_of({50'000 * times_as_many}, first_seed));
      CAPTURE(policy);
      CAPTURE(load);
      const double by_rate = found.throughput() * found.response.mean() / 1e9;
      CHECK(found.mean_in_system == doctest::Approx(by_rate).epsilon(.01));
      CHECK(found.busy == doctest::Approx(load).epsilon(.03));
    }
}
