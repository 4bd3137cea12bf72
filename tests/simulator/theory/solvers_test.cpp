#include "formulas.hpp"
#include "mean_field.hpp"
#include "two_speeds.hpp"

#include <doctest/doctest.h>

// Checks the solvers, with which the other files check the simulator, against numbers that are known from
// elsewhere.

using namespace corewise;
using namespace corewise::tests;
using doctest::Approx;

TEST_CASE("theory: Erlang's formula gives the known response times") {
  CHECK(response_of_many(1, .9) == Approx(10).epsilon(1e-9));
  CHECK(response_of_many(16, .9) == Approx(1.3696).epsilon(5e-5));
  CHECK(response_of_many(64, .9) == Approx(1.0485).epsilon(5e-5));
  CHECK(erlang_c(2, .5) == Approx(1 / 3.).epsilon(1e-9)); // 2 rho^2 / (1 + rho)
}

TEST_CASE("theory: the fixed point of the classic rule's mean field is the published sum") {
  CHECK(response_of_choices(.7, 2) == Approx(1.6145).epsilon(5e-5));
  CHECK(response_of_choices(.9, 2) == Approx(2.6141).epsilon(5e-5));
  CHECK(response_of_choices(.7, 3) == Approx(1.3568).epsilon(5e-5));
  CHECK(response_of_choices(.9, 3) == Approx(2.0279).epsilon(5e-5));
  for (const double load : {.3, .7, .9, .95})
    for (const std::uint32_t d : {2U, 3U}) {
      CAPTURE(load);
      CAPTURE(d);
      CHECK(mean_field_response(load, d, counted::all) == Approx(response_of_choices(load, d)).epsilon(1e-8));
    }
}

TEST_CASE("theory: without running tasks the mean field has a solution by hand") {
  // Two drawn; a share a of workers has a task, b two or more. The flow into "two or more" equals the flow
  // out, and only from there on all is as in the classic rule: b = a^2 / (1 + a - a^2), and then each share
  // is a times the last squared.
  for (const double load : {.3, .7, .9}) {
    const std::vector<double> shares = standing_shares(load, 2, counted::waiting);
    CAPTURE(load);
    CHECK(shares[1] == Approx(load).epsilon(1e-9));
    CHECK(shares[2] == Approx(load * load / (1 + load - load * load)).epsilon(1e-9));
    for (std::size_t k = 3; k < 6; ++k)
      CHECK(shares[k] == Approx(load * shares[k - 1] * shares[k - 1]).epsilon(1e-8));
    CHECK(mean_field_response(load, 2, counted::waiting) > response_of_choices(load, 2));
  }
}

TEST_CASE("theory: bins that are filled at random follow the Poisson distribution") {
  const std::vector<double> shares = filled_shares(1);
  double left = 1, exactly = std::exp(-1);
  for (std::size_t k = 1; k < 9; ++k) {
    left -= exactly;
    exactly /= static_cast<double>(k);
    CHECK(shares[k] == Approx(left).epsilon(1e-3));
  }
  CHECK(filled_shares(2)[1] == Approx(std::tanh(1)).epsilon(1e-4));
}

TEST_CASE("theory: the chain of two workers has the known means at equal speeds, and at a speed of 0") {
  const auto shared = [](std::uint32_t, std::uint32_t) { return .5; };
  CHECK(response_of_two(1, .6, shared) == Approx(1 / .4).epsilon(1e-5)); // two queues, each by itself
  const auto fast_only = [](std::uint32_t, std::uint32_t) { return 1.0; };
  CHECK(response_of_two(.5, .4, fast_only) == Approx(1 / (1 - .4 * 1.5)).epsilon(1e-5));
}

TEST_CASE("theory: the chain of two speeds reproduces the table of the design") {
  struct row {
    double r, load, count, drain_time, expected_delay;
  };
  constexpr std::uint32_t full = full_capacity;
  for (const row& known : {row{.5, .7, 3.013, 2.741, 2.885}, row{.25, .3, 2.481, 1.723, 1.561},
                           row{.25, .7, 4.340, 3.300, 3.550}, row{.6, .7, 2.738, 2.577, 2.597}}) {
    const auto slow = static_cast<std::uint32_t>(std::lround(known.r * full)); // .6: 614, to five digits
    const auto of = [&](const two_way_rule& rule) { return response_of_two(known.r, known.load, rule); };
    CAPTURE(known.r);
    CAPTURE(known.load);
    // The table splits the ties of `count`. The policy gives them to the faster worker, which is better and
    // has its own value.
    CHECK(of(fewest_ties_split) == Approx(known.count).epsilon(3e-4));
    CHECK(of(as_nearest_lightest(score_kind::count, slow)) < known.count);
    CHECK(of(as_nearest_lightest(score_kind::drain_time, slow)) == Approx(known.drain_time).epsilon(3e-4));
    CHECK(of(as_nearest_lightest(score_kind::expected_delay, slow)) ==
          Approx(known.expected_delay).epsilon(3e-4));
  }
}
