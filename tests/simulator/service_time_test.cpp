#include <corewise/simulator/workload.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

using namespace corewise;

namespace {

using kind = service_time::kind;

struct sample {
  std::vector<double> sorted;
  double mean = 0;
  double deviation = 0;

  double quantile(double q) const {
    return sorted[static_cast<std::size_t>(q * static_cast<double>(sorted.size() - 1))];
  }
};

sample draw(const service_time& s, int n) {
  random_stream random(11, 5);
  sample drawn;
  double sum = 0, squares = 0;
  for (int i = 0; i < n; ++i) {
    const double x = drawn.sorted.emplace_back(s.draw(random));
    sum += x, squares += x * x;
  }
  std::ranges::sort(drawn.sorted);
  drawn.mean = sum / n;
  drawn.deviation = std::sqrt(squares / n - drawn.mean * drawn.mean);
  return drawn;
}

constexpr int n = 400'000;

} // namespace

TEST_CASE("service_time: fixed is always the same") {
  const service_time s{.shape = kind::fixed, .mean_ns = 1234};
  CHECK(s.mean() == 1234);
  const sample drawn = draw(s, 100);
  CHECK(drawn.sorted.front() == 1234);
  CHECK(drawn.sorted.back() == 1234);
}

TEST_CASE("service_time: exponential has its mean, deviation and quantiles") {
  const service_time s{.shape = kind::exponential, .mean_ns = 5000};
  CHECK(s.mean() == 5000);
  const sample drawn = draw(s, n);
  CHECK(drawn.mean == doctest::Approx(5000).epsilon(0.01)); // 6 standard errors
  CHECK(drawn.deviation == doctest::Approx(5000).epsilon(0.01));
  CHECK(drawn.quantile(0.5) == doctest::Approx(5000 * std::log(2)).epsilon(0.01));
  CHECK(drawn.quantile(0.99) == doctest::Approx(5000 * std::log(100)).epsilon(0.02));
}

TEST_CASE("service_time: lognormal has the requested mean and deviation") {
  for (const double deviation : {0.25, 1.0, 2.0}) {
    CAPTURE(deviation);
    const service_time s{.shape = kind::lognormal, .mean_ns = 10'000, .deviation = deviation};
    CHECK(s.mean() == 10'000);
    const sample drawn = draw(s, n);
    CHECK(drawn.mean == doctest::Approx(10'000).epsilon(0.02));
    CHECK(drawn.deviation / drawn.mean == doctest::Approx(deviation).epsilon(0.1));
    CHECK(drawn.quantile(0.5) ==
          doctest::Approx(10'000 / std::sqrt(1 + deviation * deviation)).epsilon(0.02));
    CHECK(drawn.sorted.front() > 0);
  }
}

TEST_CASE("service_time: bimodal has two values, the rare one as often as requested") {
  const service_time s{.shape = kind::bimodal, .mean_ns = 10'000, .rare_ns = 1'000'000, .rare_share = 0.005};
  CHECK(s.mean() == doctest::Approx(0.995 * 10'000 + 0.005 * 1'000'000));
  const sample drawn = draw(s, n);
  const auto rare = std::ranges::count(drawn.sorted, 1'000'000.0);
  CHECK(rare + std::ranges::count(drawn.sorted, 10'000.0) == n);
  CHECK(static_cast<double>(rare) / n == doctest::Approx(0.005).epsilon(0.1)); // 4.5 standard errors
  CHECK(draw({.shape = kind::bimodal, .mean_ns = 1, .rare_ns = 2, .rare_share = 0}, 1000).sorted.back() == 1);
  CHECK(draw({.shape = kind::bimodal, .mean_ns = 1, .rare_ns = 2, .rare_share = 1}, 1000).sorted.front() ==
        2);
}

TEST_CASE("service_time: Pareto has its mean, its least value and its tail") {
  const service_time s{.shape = kind::pareto, .mean_ns = 9000, .exponent = 3};
  CHECK(s.mean() == 9000);
  const sample drawn = draw(s, n);
  CHECK(drawn.mean == doctest::Approx(9000).epsilon(0.02));
  CHECK(drawn.sorted.front() >= 6000);
  for (const double q : {0.5, 0.9, 0.99})
    CHECK(drawn.quantile(q) == doctest::Approx(6000 * std::pow(1 - q, -1.0 / 3)).epsilon(0.02));

  // The mean of so heavy a tail takes longer to show than its quantiles.
  const sample heavy = draw({.shape = kind::pareto, .mean_ns = 3000, .exponent = 1.5}, n);
  CHECK(heavy.quantile(0.5) == doctest::Approx(1000 * std::pow(0.5, -1 / 1.5)).epsilon(0.02));
  CHECK(heavy.quantile(0.999) == doctest::Approx(1000 * std::pow(0.001, -1 / 1.5)).epsilon(0.1));
}
