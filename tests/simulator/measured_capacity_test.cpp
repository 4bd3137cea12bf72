// What it brings that an engine measures its cores, where the machine tells their capacities wrongly.

#include <corewise/simulator/simulation.hpp>

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>

using namespace corewise;

namespace {

/// Eight fast cores and sixteen slow ones, of which the machine says that they have that capacity.
profile hybrid(const std::string& said, bool measure) {
  return parse_profile(R"(
topology:
  source: {synthetic: "pack:1 numa:1 l3:1 core:24 pu:1"}
  kinds:
    - {cpus: "0-7", name: P, capacity: 1024}
    - {cpus: "8-23", name: E, capacity: )" +
                       said + R"(}
  follow: 10ms
  measure: )" + (measure ? "true" : "false"));
}

/// Simulates it with slow cores that have four tenths of the speed.
simulation_result run(const std::string& said, bool measure, const std::string& service) {
  const profile p = hybrid(said, measure);
  simulated_machine m(p);
  m.really_have("E", 410);
  return simulate(p, m, parse_workload("poisson,load=.5," + service),
                  {.seed = 1, .tasks = 1'000'000, .warm_up = .5});
}

} // namespace

TEST_CASE("measured capacity: where slow cores are slower than the machine says, an engine that measures is "
          "nearly as "
          "good as one that knows") {
  for (const char* const service : {"service=exp:100us", "service=fixed:100us"}) {
    CAPTURE(service);
    const auto believes = run("614", false, service).response;
    const auto measures = run("614", true, service).response;
    const auto knows = run("410", false, service).response;
    CAPTURE(believes.mean());
    CAPTURE(measures.mean());
    CAPTURE(knows.mean());
    CHECK(measures.mean() < knows.mean() + .25 * (believes.mean() - knows.mean()));
    CHECK(knows.mean() < .97 * believes.mean()); // else there is nothing to gain
  }
}

TEST_CASE("measured capacity: where the machine tells it rightly, measuring changes little") {
  const auto believes = run("410", false, "service=exp:100us").response;
  const auto measures = run("410", true, "service=exp:100us").response;
  CHECK(measures.mean() < 1.02 * believes.mean());
}

TEST_CASE("measured capacity: a load is of what the cores really have") {
  const profile p = hybrid("614", false);
  simulated_machine m(p);
  CHECK(m.capacity() == doctest::Approx(8 + 16 * .6).epsilon(.001));
  m.really_have("E", 410);
  CHECK(m.capacity() == doctest::Approx(8 + 16 * .4).epsilon(.001));
  CHECK_THROWS_AS(m.really_have("LITTLE", 410), std::invalid_argument);
}
