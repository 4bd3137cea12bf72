#include "counts.hpp"
#include "tuning_bench.hpp"

#include <doctest/doctest.h>

#include <chrono>

// Checks the search on equal cores in one domain, with the simulator itself and so many runs that a gain of
// 0.5% would be seen. For tasks from outside with exponential service it must find only that workers which do
// not fall asleep are there sooner, and elsewhere the known gains.

using namespace corewise;
using namespace corewise::tests;

namespace {

constexpr auto simulated_tasks = tests::count_of<std::uint64_t>(20'000, 200'000);
constexpr auto evaluations = tests::count_of<std::uint32_t>(20, 80);

struct tuned {
  tuning_result result;
  std::string said;
};

tuned tune_from(const profile& start, const std::string& work) {
  const tuning_options options{.seeds = 3, .held_out = 20, .evaluations = evaluations};
  tuned t{tune(bench_engine(), start, fields_of(start),
               simulated_objective(start, {parse_workload(work)}, simulated_tasks), options),
          ""};
  t.said = findings(t.result, options).front();
  return t;
}

/// Tunes from the defaults.
tuned tune_equal_cores(const std::string& machine, const std::string& work) {
  return tune_from(on_machine(machine), work);
}

} // namespace

TEST_CASE(
    "on equal cores in one domain the weight of a neighbour does not change the way of tasks from outside") {
  const profile start = on_machine("core:8 pu:1");
  for (const char* work : {"poisson,load=.7,service=exp:10us", "poisson,load=.7,service=fixed:10us",
                           "poisson,load=.7,service=bimodal:10us:1ms:.005"}) {
    const tuning_objective run = simulated_objective(start, {parse_workload(work)}, simulated_tasks);
    const double usual = run(start, 0, 1).p99_ns;
    for (const double spill : {.25, 1., 8., 32.}) {
      profile p = start;
      p.dispatch.weights.spill.same_domain = spill;
      CHECK(run(p, 0, 1).p99_ns == usual);
    }
  }
}

TEST_CASE("on equal cores with exponential service the search finds the price of falling asleep") {
  const tuned t = tune_equal_cores("core:16 pu:1", "poisson,load=.7,service=exp:10us");
  CAPTURE(t.said);
  CHECK(t.result.gained);
  CHECK(t.result.tuned.idle.spin > profile{}.idle.spin);
  CHECK(t.result.over_start.ratio > .95);
}

TEST_CASE("on equal cores with exponential service `latency` leaves nothing that is worth a change") {
  profile start = load_profile(COREWISE_SOURCE_DIR "/configs/latency.yaml");
  start.topology.machine.source = synthetic_source{"core:16 pu:1"};
  start.idle.spin = std::chrono::microseconds{500};
  const tuned t = tune_from(start, "poisson,load=.7,service=exp:10us");
  CAPTURE(t.said);
  CHECK_FALSE(t.result.gained);
  CHECK(t.said.starts_with("No gain "));
  CHECK(t.result.over_start.low > .98); // else it says nothing
}

TEST_CASE("on equal cores with fixed service the search finds that more searchers which spin for longer gain "
          "much") {
  const tuned t = tune_equal_cores("core:16 pu:1", "poisson,load=.7,service=fixed:10us");
  CAPTURE(t.said);
  CHECK(t.result.gained);
  CHECK(t.result.tuned.idle.searchers_per_mille > profile{}.idle.searchers_per_mille);
  CHECK(t.result.tuned.idle.spin > profile{}.idle.spin);
  CHECK(t.result.over_start.ratio < .85);
  CHECK(t.said.starts_with("Gain: "));
}

TEST_CASE(
    "on equal cores whose workers submit, the search finds that sending to neighbours sooner gains much") {
  const tuned t = tune_equal_cores("core:8 pu:1", "poisson,load=.7,from=worker,service=fixed:10us");
  CAPTURE(t.said);
  CHECK(t.result.gained);
  CHECK(t.result.over_start.ratio < .9);
}
