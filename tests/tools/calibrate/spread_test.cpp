#include <calibrate/spread.hpp>
#include <doctest/doctest.h>

using namespace corewise::command;

TEST_CASE("a quantile lies between two samples in proportion") {
  CHECK(quantile({7}, 0.9) == 7);
  CHECK(quantile({1, 2}, 0.5) == 1.5);
  CHECK(quantile({0, 10, 20}, 0.25) == 5);
  CHECK(quantile({0, 10, 20}, 1) == 20);
}

TEST_CASE("a spread does not depend on the order of the samples") {
  const auto s = spread_of({50, 10, 30, 20, 40, 0, 100, 90, 80, 70, 60});
  REQUIRE(s);
  CHECK(s->median == 50);
  CHECK(s->p10 == 10);
  CHECK(s->p90 == 90);
  CHECK(s->quarters == 50);
  CHECK(s->samples == 11);
}

TEST_CASE("too few samples give no figure") {
  CHECK_FALSE(spread_of({}));
  CHECK_FALSE(spread_of({1, 2, 3, 4}));
  CHECK(spread_of({1, 2, 3, 4, 5}));
}

TEST_CASE("a figure is noisy when half of its samples differ by more than 30 % of the median") {
  CHECK_FALSE(spread_of({90, 95, 100, 105, 110})->noisy());
  CHECK_FALSE(spread_of({1, 100, 100, 100, 9000})->noisy()); // a few that are far off do not make it so
  CHECK(spread_of({60, 80, 100, 120, 140})->noisy());
}

TEST_CASE("in the geometric mean a half and a double cancel each other") {
  CHECK(geometric_mean({2, 0.5}) == doctest::Approx(1));
  CHECK(geometric_mean({4, 1, 2}) == doctest::Approx(2));
}
