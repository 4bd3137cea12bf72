#include "counts.hpp"
#include "interval.hpp"
#include "simulated.hpp"
#include "two_speeds.hpp"

#include <array>
#include <cstdlib>
#include <random>
#include <string>
#include <utility>

// Two workers of unequal speeds under `nearest_lightest`, against the chain whose decisions are the policy's
// own. solvers_test.cpp checks that the chain gives DESIGN D3b's table. Only `count` differs from that table:
// the table splits ties evenly, the policy gives them to the faster worker. So a rule of the test's own
// checks that column.

using namespace corewise;
using namespace corewise::tests;

namespace {

struct cell {
  std::uint32_t slow_capacity = full_capacity;
  double load = 0;
  score_kind score = score_kind::count;

  double r() const { return static_cast<double>(slow_capacity) / full_capacity; }
  double in_theory() const { return response_of_two(r(), load, as_nearest_lightest(score, slow_capacity)); }
};

/// The rule of the fewest tasks, with ties drawn.
class ties_split final : public policy {
 public:
  std::string_view name() const noexcept override { return "ties_split"; }
  placement place(const load_view& loads, const task_origin& /*origin*/, const placement_hint& /*hint*/,
                  placement_rng& rng, placement_cursor& /*cursor*/) const noexcept override {
    const std::uint32_t tie = rng.below(2);
    const std::uint32_t one = of(loads, tie), other = of(loads, 1 - tie);
    const worker_id chosen{one <= other ? tie : 1 - tie};
    return {.worker = chosen, .group = loads.layout()[chosen].group};
  }

 private:
  static std::uint32_t of(const load_view& loads, std::uint32_t worker) noexcept {
    return loads.load(loads.layout()[worker_id{worker}].group, 0).total(); // each has a group of its own
  }
};

profile profile_of(const cell& c) {
  profile p = no_stealing("core:2 pu:1", "nearest_lightest"); // the machine is another; it is handed over
  p.topology.groups = {};
  p.dispatch.weights.score = c.score;
  return p;
}

simulated_machine machine_of(const cell& c, const profile& p) {
  simulated_machine m(p, std::make_shared<const topology>(build(two_speeds(c.slow_capacity))));
  m.costs = no_costs();
  REQUIRE(m.workers.size() == 2);
  REQUIRE(m.capacity() == doctest::Approx(1 + c.r()));
  return m;
}

/// How much longer the response takes than on one worker as fast as both, on the same arrivals, plus what
/// theory says of that one worker: bursts lengthen both alike, so the interval is a third as wide.
interval response_of(const cell& c, const path_length& length, const policy* rule = nullptr) {
  const profile p = profile_of(c);
  const simulated_machine m = machine_of(c, p);
  const double both = 1 + c.r();
  interval found = repeat([&](std::uint64_t seed) {
    return simulated_response(p, m, c.load, length, seed, rule) -
           path_response(c.load, seed, {both}, one_queue{}, length);
  });
  found.mean += 1 / (both * (1 - c.load));
  return found;
}

/// Checks that each task ends when arithmetic says, on the same arrivals, where the policy itself says which
/// worker gets the task: no chance is left.
void check_task_after_task(const cell& c, std::uint64_t seed) {
  const path_length length{50'000 * times_as_many, 0};
  dispatch_weights weights;
  weights.score = c.score;
  situation s(build(two_speeds(c.slow_capacity)), weights);
  const profile p = profile_of(c);
  const double found = simulated_response(p, machine_of(c, p), c.load, length, seed);
  const double expected = path_response(c.load, seed, {1, c.r()}, asked_policy(s, seed), length);
  CHECK(found ==
        doctest::Approx(expected).epsilon(1e-4)); // an arrival and an end in the same ns may change places
}

/// Returns another seed each time; COREWISE_SEED repeats one.
std::uint32_t drawn_seed() {
  const char* given = std::getenv("COREWISE_SEED");
  return given == nullptr ? std::random_device{}() : static_cast<std::uint32_t>(std::stoul(given));
}

cell drawn_cell(random_stream& random) {
  return {random.below(900) + 124, .1 + .7 * random.uniform(), static_cast<score_kind>(random.below(3))};
}

} // namespace

TEST_CASE("theory: two workers of unequal speeds have the response times of the design's table") {
  constexpr std::array<std::pair<std::uint32_t, double>, 4> all{{{256, .7}, {614, .7}, {256, .3}, {512, .7}}};
  for (const auto& [slow, load] : first_of(all, 2))
    for (const score_kind score : {score_kind::count, score_kind::drain_time, score_kind::expected_delay}) {
      const cell c{slow, load, score};
      CAPTURE(slow);
      CAPTURE(load);
      CAPTURE(static_cast<int>(score));
      check_contains(response_of(c, {150'000 * times_as_many}), c.in_theory(), 0, .01);
    }
}

TEST_CASE("theory: count with split ties has the response times of the design's table") {
  struct row {
    std::uint32_t slow;
    double load, response;
  };
  for (const row& known : {row{512, .7, 3.013}, {256, .3, 2.481}, {256, .7, 4.340}, {614, .7, 2.738}}) {
    CAPTURE(known.slow);
    CAPTURE(known.load);
    const cell c{known.slow, known.load, score_kind::count};
    const ties_split rule;
    check_contains(response_of(c, {150'000 * times_as_many}, &rule), known.response, 0, .01);
  }
}

TEST_CASE("theory: two workers of unequal speeds have the right response times for random speeds, loads and "
          "scores") {
  const std::uint32_t seed = drawn_seed();
  random_stream random(seed, 0);
  for (int i = 0; i < 4; ++i) {
    const cell c = drawn_cell(random);
    INFO("COREWISE_SEED=", seed, " repeats this");
    CAPTURE(c.slow_capacity);
    CAPTURE(c.load);
    CAPTURE(static_cast<int>(c.score));
    check_contains(response_of(c, {150'000 * times_as_many}), c.in_theory(), .01, .03);
  }
}

TEST_CASE("theory: two workers of unequal speeds take task after task as the policy places them") {
  const std::uint32_t seed = drawn_seed();
  random_stream random(seed, 1);
  for (int i = 0; i < 20; ++i) {
    const cell c = drawn_cell(random);
    INFO("COREWISE_SEED=", seed, " repeats this");
    CAPTURE(c.slow_capacity);
    CAPTURE(c.load);
    CAPTURE(static_cast<int>(c.score));
    check_task_after_task(c, seed);
  }
}
