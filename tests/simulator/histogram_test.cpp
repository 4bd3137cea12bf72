#include <corewise/simulator/histogram.hpp>
#include <corewise/simulator/random_stream.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

using namespace corewise;

namespace {

histogram of(const std::vector<double>& values) {
  histogram h;
  for (const double v : values) h.add(v);
  return h;
}

double exact_quantile(const std::vector<double>& sorted, double q) {
  const auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(sorted.size())));
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

} // namespace

TEST_CASE("histogram: without values everything is 0") {
  const histogram h;
  CHECK(h.count() == 0);
  CHECK(h.mean() == 0);
  CHECK(h.max() == 0);
  CHECK(h.quantile(0.5) == 0);
  CHECK(h.cumulative().empty());
}

TEST_CASE("histogram: quantiles are within 1% of those of the sorted sample") {
  for (const double scale : {200.0, 1e4, 1e7, 1e12}) {
    CAPTURE(scale);
    random_stream random(3, 4);
    std::vector<double> sample;
    double sum = 0;
    for (int i = 0; i < 100'000; ++i) sum += sample.emplace_back(scale * (1 + std::exp(2 * random.normal())));
    const histogram h = of(sample);
    std::ranges::sort(sample);
    CHECK(h.count() == sample.size());
    CHECK(h.mean() == doctest::Approx(sum / static_cast<double>(sample.size())).epsilon(1e-9));
    CHECK(h.max() == sample.back());
    for (const double q : {0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999, 1.0}) {
      CAPTURE(q);
      CHECK(h.quantile(q) == doctest::Approx(exact_quantile(sample, q)).epsilon(0.01));
    }
  }
}

TEST_CASE("histogram: it interpolates within a bucket, and never returns more than the largest value") {
  const histogram same = of({1000, 1000, 1000, 1000});
  CHECK(same.quantile(0.5) <= 1000);
  CHECK(same.quantile(0.5) == doctest::Approx(1000).epsilon(0.01));
  CHECK(same.quantile(1) == 1000);

  histogram even; // one bucket of 2^20 and the one after it
  for (int i = 0; i < 2 * 8192; ++i) even.add((1 << 20) + i);
  CHECK(even.quantile(0.25) == doctest::Approx((1 << 20) + 4096).epsilon(1e-6));
  CHECK(even.quantile(0.75) == doctest::Approx((1 << 20) + 12288).epsilon(1e-6));
}

TEST_CASE("histogram: a negative value or NaN counts as 0, a value that is too large as 2^62") {
  const histogram low = of({-5, -1e300, std::numeric_limits<double>::quiet_NaN()});
  CHECK(low.count() == 3);
  CHECK(low.max() == 0);
  CHECK(low.mean() == 0);
  CHECK(low.quantile(1) == 0);
  const histogram high = of({1e300, std::numeric_limits<double>::infinity()});
  CHECK(high.count() == 2);
  CHECK(high.max() == 0x1p62);
  CHECK(high.quantile(0.5) == doctest::Approx(0x1p62));
}

TEST_CASE("histogram: small values have buckets of width 1") {
  histogram h;
  for (int i = 0; i < 256; ++i) h.add(i);
  CHECK(h.cumulative().size() == 256);
  CHECK(h.quantile(0.5) == doctest::Approx(128).epsilon(0.01));
}

TEST_CASE("histogram: the sum of two equals one histogram of all values") {
  random_stream random(1, 1);
  histogram a, b, both;
  for (int i = 0; i < 10'000; ++i) {
    const double v = 5000 * random.exponential();
    (i % 3 == 0 ? a : b).add(v);
    both.add(v);
  }
  a.add(b);
  CHECK(a.count() == both.count());
  CHECK(a.max() == both.max());
  CHECK(a.mean() == doctest::Approx(both.mean()));
  CHECK(a.cumulative() == both.cumulative());
}

TEST_CASE("histogram: the cumulative shares ascend to 1 at the largest value, and agree with the quantiles") {
  random_stream random(1, 2);
  histogram h;
  for (int i = 0; i < 10'000; ++i) h.add(1000 * random.exponential());
  const auto points = h.cumulative();
  REQUIRE(!points.empty());
  CHECK(std::ranges::is_sorted(points));
  CHECK(points.back() == std::pair(h.max(), 1.0));
  for (const auto& [value, share] : points) CHECK(h.quantile(share) == doctest::Approx(value));
}
