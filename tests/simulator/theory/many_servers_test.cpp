#include "formulas.hpp"
#include "interval.hpp"
#include "simulated.hpp"

// One queue for all workers is M/M/n, about which theory knows everything.

using namespace corewise;
using namespace corewise::tests;

namespace {

/// A profile that needs no change for the theory: its workers find their own queues empty, so they look into
/// the engine's queue at every task, whatever the interval, and take one task at a time.
profile global_queue(std::uint32_t workers) {
  profile p = load_profile(COREWISE_CONFIGS "/global-queue.yaml");
  use_machine(p.topology.machine, "core:" + std::to_string(workers) + " pu:1");
  REQUIRE(p.injection.batch.max == 1);
  return p;
}

void check_response(std::uint32_t workers, double load, double sharp) {
  const profile p = global_queue(workers);
  const simulated_machine m = free_of_cost(p);
  const path_length length{400'000 * times_as_many};
  const interval found =
      repeat([&](std::uint64_t seed) { return simulated_response(p, m, load, length, seed); });
  CAPTURE(workers);
  CAPTURE(load);
  check_contains(found, response_of_many(workers, load), 0, sharp);
}

} // namespace

TEST_CASE("theory: workers with one queue have the response times of M/M/n") {
  check_response(1, .5, .01);
  check_response(1, .9, .1);
  check_response(16, .9, .02);
  check_response(64, .9, .01);
}

TEST_CASE("theory: workers with one queue take the tasks in the order of their coming") {
  // With the same arrivals each task must end when arithmetic says: no chance is left, so this is much
  // sharper than an interval.
  for (const std::uint32_t workers : {1U, 2U, 16U, 64U}) {
    const profile p = global_queue(workers);
    const simulated_machine m = free_of_cost(p);
    const path_length length{50'000 * times_as_many, 0};
    const std::vector<double> speeds(workers, 1.0);
    const double found = simulated_response(p, m, .9, length, first_seed);
    CAPTURE(workers);
    CAPTURE(first_seed);
    CHECK(found == doctest::Approx(path_response(.9, first_seed, speeds, one_queue{}, length)).epsilon(1e-6));
  }
}
