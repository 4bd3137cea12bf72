#include "tuning_bench.hpp"

#include <doctest/doctest.h>

#include <functional>

using namespace corewise;
using namespace corewise::tests;

namespace {

/// Counts how many of `times` comparisons of 20 pairs each claim a gain, where there is `gain`.
int claims(int times, double gain, const std::function<double(random_stream&)>& noise) {
  random_stream random(11, 0);
  int claimed = 0;
  std::vector<double> ratios(20);
  for (int i = 0; i < times; ++i) {
    for (double& r : ratios) r = noise(random) - noise(random) - gain; // two runs of the same kind
    claimed += compare(ratios).beyond_luck ? 1 : 0;
  }
  return claimed;
}

} // namespace

TEST_CASE("an interval is that of Student's t distribution") {
  // mean .3, standard deviation .1581, t(4, .995) = 4.604
  const std::vector<double> ratios{0.1, 0.2, 0.3, 0.4, 0.5};
  const tuning_comparison c = compare(ratios);
  CHECK(c.ratio == doctest::Approx(std::exp(0.3)));
  CHECK(c.median == doctest::Approx(std::exp(0.3)));
  CHECK(std::log(c.high) == doctest::Approx(0.3 + 4.604 * 0.15811 / std::sqrt(5)).epsilon(1e-3));
  CHECK(std::log(c.low) == doctest::Approx(0.3 - 4.604 * 0.15811 / std::sqrt(5)).epsilon(1e-3));
  CHECK_FALSE(c.beyond_luck);
}

TEST_CASE("the interval of the best of several profiles holds for all of them together") {
  // t(4, 1 - .01 / 5 / 2) = 7.173
  const tuning_comparison c = compare(std::vector<double>{0.1, 0.2, 0.3, 0.4, 0.5}, 5);
  CHECK(std::log(c.high) == doctest::Approx(0.3 + 7.173 * 0.15811 / std::sqrt(5)).epsilon(1e-3));
  CHECK_THROWS_AS(compare(std::vector<double>{0.1, 0.2}, 0), std::invalid_argument);
}

TEST_CASE("a gain of up to 0.5% is no gain, however certain") {
  CHECK_FALSE(compare(std::vector<double>(20, -0.0045)).beyond_luck);
  CHECK_FALSE(compare(std::vector<double>(20, 0.0)).beyond_luck);
  CHECK(compare(std::vector<double>(20, -0.0055)).beyond_luck);
}

TEST_CASE("without a gain at most one comparison in a hundred claims one, for any spread of the runs") {
  constexpr int times = 20'000;
  CHECK(claims(times, 0, [](random_stream& r) { return 0.1 * r.normal(); }) < times / 100);
  CHECK(claims(times, 0, [](random_stream& r) { return 0.1 * std::log(r.exponential()); }) < times / 100);
  CHECK(claims(times, 0, [](random_stream& r) { return r.uniform() < 0.05 ? 1.0 : 0.0; }) < times / 100);
  CHECK(claims(times, 0, [](random_stream& r) { return 0.1 * r.normal() / r.uniform(); }) < times / 100);
}

TEST_CASE("a gain as large as the noise is found in most cases") {
  CHECK(claims(1000, 0.1, [](random_stream& r) { return 0.1 * r.normal() / std::sqrt(2.0); }) > 800);
}

TEST_CASE("tuning pure noise claims a gain at most about once in a hundred times, also with purposes") {
  const profile start = on_machine("core:8 pu:1");
  const std::vector<tuned_field> fields = fields_of(start);
  int claimed = 0, flattered = 0, shipped = 0;
  constexpr std::uint64_t times = 400;
  for (std::uint64_t i = 0; i < times; ++i) {
    // Each profile has noise of its own on each seed, so that the search finds what was lucky on its seeds.
    const auto luck = [](const profile& p, std::size_t, std::uint64_t seed) {
      const std::uint64_t name = std::hash<std::string>{}(profile_text(p));
      return all_figures(0.2 * noise_of(seed, name));
    };
    tuning_options options{.first_seed = 100 * i, .seeds = 4, .held_out = 20, .evaluations = 30};
    if (i % 2 == 0) options.purposes = shipped_purposes();
    const tuning_result r = tune(bench_engine(), start, fields, luck, options);
    claimed += r.gained ? 1 : 0;
    flattered += r.searched_ratio < 0.9 ? 1 : 0;
    shipped += r.shipped.empty() ? 0 : 1;
  }
  CHECK(flattered > 150); // a purpose was not chosen for its luck there
  CHECK(shipped > 100);
  CHECK(claimed <= 8); // 2 are expected
  MESSAGE("claimed " << claimed << " of " << times << " times");
}
