#include "tuning_bench.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace corewise;
using namespace corewise::tests;

namespace {

constexpr std::uint64_t tasks = 3000;

/// The 99th percentile of one more run, on the machine as that profile divides it.
double p99_of(const profile& p, const workload& w, std::uint64_t seed) {
  return simulate(p, simulated_machine(p), w, {.seed = seed, .tasks = tasks}).response.quantile(0.99);
}

profile learned(const std::string& name) {
  profile p = load_profile(COREWISE_SOURCE_DIR "/configs/" + name + ".yaml");
  p.topology.machine.source = synthetic_source{"pack:1 l3:4 core:8 pu:1"};
  return p;
}

/// Checks that the ratios that tuning reports for the default and the start are those of separate runs.
void check_judgement(const profile& start) {
  const workload w = parse_workload("poisson,load=.8,service=exp:10us");
  const tuning_options options{.seeds = 1, .held_out = 4, .evaluations = 12};
  const tuning_result r =
      tune(bench_engine(), start, fields_of(start), simulated_objective(start, {w}, tasks), options);
  std::vector<double> over_default, over_start;
  for (std::uint64_t i = 0; i < options.held_out; ++i) {
    const std::uint64_t seed = options.first_seed + options.seeds + i;
    const double found = std::log(p99_of(r.candidate, w, seed));
    over_default.push_back(found - std::log(p99_of(defaults_beside(start), w, seed)));
    over_start.push_back(found - std::log(p99_of(start, w, seed)));
  }
  CHECK(r.over_default.ratio == doctest::Approx(compare(over_default).ratio));
  CHECK(r.over_default.low == doctest::Approx(compare(over_default).low));
  CHECK(r.over_start.ratio == doctest::Approx(compare(over_start).ratio));
}

} // namespace

TEST_CASE("the default is judged on its own division of the machine, after any other trial") {
  SUBCASE("from one pool, and the search tries groups as large as the default's") {
    check_judgement(learned("tokio"));
  }
  SUBCASE("from packages, in groups as large as the default's") {
    profile p = learned("default");
    p.topology.groups.group_by = domain_kind::package;
    check_judgement(p);
  }
}

TEST_CASE("a load is of the start's workers, also for profiles with more of them") {
  profile p = learned("default");
  p.topology.machine.source = synthetic_source{"core:4 pu:2"};
  const tuning_objective figures = simulated_objective(p, {parse_workload("poisson,load=.5")}, tasks);
  const double four = figures(p, 0, 1).ns_per_task;
  p.topology.smt = smt_use::all;
  CHECK(figures(p, 0, 1).ns_per_task == doctest::Approx(four).epsilon(0.01));
}

TEST_CASE("second hardware threads are used where they pay") {
  profile start = learned("default");
  start.topology.machine.source = synthetic_source{"core:4 pu:2"};
  const auto found = [&](double shared_core) {
    start.topology.machine.costs.slowdown.shared_core = shared_core;
    std::vector<tuned_field> fields = fields_of(start);
    std::erase_if(fields, [](const tuned_field& f) { return f.key != "topology.smt"; });
    const auto run =
        simulated_objective(start, {parse_workload("poisson,load=.9,service=fixed:50us")}, tasks);
    return tune(bench_engine(), start, fields, run, {.seeds = 2, .held_out = 4}).tuned.topology.smt;
  };
  CHECK(found(1.3) == smt_use::all);
  CHECK(found(2) == smt_use::one_per_core);
}

TEST_CASE("each tried profile has the workers that it asks for") {
  profile p = learned("default");
  p.topology.machine.source = synthetic_source{"core:4 pu:2"};
  const workload w = parse_workload("closed,clients=40,think=fixed:0ns,service=fixed:10us");
  const tuning_objective figures = simulated_objective(p, {w}, tasks);
  const auto check = [&] {
    CHECK(figures(p, 0, 1).p99_ns == doctest::Approx(p99_of(p, w, 1)));
    return figures(p, 0, 1).ns_per_task;
  };
  const double four = check();
  p.topology.smt = smt_use::all;
  const double eight = check();
  CHECK(eight < 0.85 * four); // two threads of a core get 1.25 times as much done as one
  CHECK(eight > 0.75 * four);
  p.workers.per_group = 2;
  CHECK(check() > 1.8 * four);
  p.workers.total = 1;
  CHECK(check() > 3.6 * four);
}
