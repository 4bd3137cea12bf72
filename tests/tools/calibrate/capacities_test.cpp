#include <calibrate/kind_speed.hpp>
#include <doctest/doctest.h>

using namespace corewise::command;

namespace {

using times = std::array<std::vector<double>, kernel_names.size()>;

/// Returns rounds that are all alike.
times steady(double integer, double memory, double branchy, std::size_t rounds = 5) {
  return {std::vector<double>(rounds, integer), std::vector<double>(rounds, memory),
          std::vector<double>(rounds, branchy)};
}

} // namespace

TEST_CASE(
    "the fastest kind has the capacity 1024, and another one that of the geometric mean of its ratios") {
  const auto capacities = capacities_of({steady(2, 4, 8), steady(1, 4, 1)}); // half, the same, an eighth
  REQUIRE(capacities[0]);
  REQUIRE(capacities[1]);
  CHECK(capacities[0]->median == doctest::Approx(1024 / 2.5198421));
  CHECK(capacities[1]->median == doctest::Approx(1024));
}

TEST_CASE("a kind that is faster in only one kernel is the slower one") {
  const auto capacities = capacities_of({steady(1, 1, 1), steady(0.9, 2, 2)});
  CHECK(capacities[0]->median == doctest::Approx(1024));
  CHECK(capacities[1]->median < 1024);
}

TEST_CASE("a round that disturbs all kinds alike does not spread their capacities") {
  times fast = steady(1, 1, 1);
  times slow = steady(2, 2, 2);
  for (times* t : {&fast, &slow})
    for (auto& kernel : *t) kernel[2] *= 10;
  const auto capacities = capacities_of({slow, fast});
  CHECK(capacities[0]->p10 == doctest::Approx(512));
  CHECK(capacities[0]->p90 == doctest::Approx(512));
}

TEST_CASE("without enough rounds of each kind no kind has a capacity") {
  const auto capacities = capacities_of({steady(1, 1, 1), steady(2, 2, 2, 4)});
  CHECK_FALSE(capacities[0]);
  CHECK_FALSE(capacities[1]);
}
