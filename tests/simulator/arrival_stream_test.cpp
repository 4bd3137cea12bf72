#include <corewise/simulator/workload.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

using namespace corewise;

namespace {

std::vector<arrival> take(arrival_stream& stream, std::size_t n) {
  std::vector<arrival> taken;
  while (taken.size() < n)
    if (const auto a = stream.next())
      taken.push_back(*a);
    else
      break;
  return taken;
}

std::vector<arrival> take(std::string_view text, std::size_t n, double capacity = 4, std::uint64_t seed = 1) {
  arrival_stream stream(parse_workload(text), capacity, seed);
  return take(stream, n);
}

double rate_of(const std::vector<arrival>& all) {
  return static_cast<double>(all.size()) * 1e9 / static_cast<double>(all.back().time_ns);
}

/// Returns variance / mean of the arrivals in windows of such a length: 1 for a Poisson process.
double dispersion(const std::vector<arrival>& all, double window_ns) {
  const auto windows = static_cast<std::size_t>(static_cast<double>(all.back().time_ns) / window_ns);
  std::vector<double> counts(windows);
  for (const arrival& a : all) {
    const auto at = static_cast<std::size_t>(static_cast<double>(a.time_ns) / window_ns);
    if (at < windows) ++counts[at];
  }
  double sum = 0, squares = 0;
  for (const double c : counts) sum += c, squares += c * c;
  const double mean = sum / static_cast<double>(windows);
  return (squares / static_cast<double>(windows) - mean * mean) / mean;
}

} // namespace

TEST_CASE("arrival_stream: load × capacity is the work that arrives in a unit of time") {
  for (const double capacity : {1.0, 24.0}) {
    arrival_stream stream(parse_workload("poisson,load=.5,service=exp:20us"), capacity, 3);
    CHECK(stream.rate() == doctest::Approx(0.5 * capacity / 20e-6));
    const auto all = take(stream, 200'000);
    CHECK(rate_of(all) == doctest::Approx(stream.rate()).epsilon(0.01));
    double work = 0;
    for (const arrival& a : all) work += a.service_ns;
    CHECK(work / static_cast<double>(all.back().time_ns) == doctest::Approx(0.5 * capacity).epsilon(0.02));
  }
}

TEST_CASE("arrival_stream: a rate is independent of the capacity") {
  arrival_stream stream(parse_workload("poisson,rate=1e6"), 100, 1);
  CHECK(stream.rate() == 1e6);
  CHECK(rate_of(take(stream, 200'000)) == doctest::Approx(1e6).epsilon(0.01));
}

TEST_CASE("arrival_stream: trees arrive so that their work is the load") {
  arrival_stream stream(parse_workload("fork-join,load=.8,depth=2,fanout=3,service=fixed:10us"), 16, 1);
  CHECK(stream.rate() == doctest::Approx(0.8 * 16 / (13 * 10e-6)));
  const auto all = take(stream, 100'000);
  CHECK(rate_of(all) == doctest::Approx(stream.rate()).epsilon(0.01));
  CHECK(all.front().service_ns == 10'000);
}

TEST_CASE("arrival_stream: times ascend, and Poisson's gaps are exponential") {
  const auto all = take("poisson,rate=1e5", 200'000);
  CHECK(std::ranges::is_sorted(all, {}, &arrival::time_ns));
  std::vector<double> gaps;
  for (std::size_t i = 1; i < all.size(); ++i)
    gaps.push_back(static_cast<double>(all[i].time_ns - all[i - 1].time_ns));
  std::ranges::sort(gaps);
  const auto quantile = [&](double q) {
    return gaps[static_cast<std::size_t>(q * static_cast<double>(gaps.size()))];
  };
  for (const double q : {0.1, 0.5, 0.9, 0.99})
    CHECK(quantile(q) == doctest::Approx(-10'000 * std::log1p(-q)).epsilon(0.03));
  CHECK(dispersion(all, 1e6) == doctest::Approx(1).epsilon(0.1));
}

TEST_CASE("arrival_stream: mmpp has the asked rate on average, and bursts") {
  constexpr std::string_view text = "mmpp,rate=1e6,burst=10,burst-share=.1,burst-length=1ms";
  arrival_stream stream(parse_workload(text), 4, 5);
  CHECK(stream.rate() == 1e6);
  const auto all = take(stream, 5'000'000); // 500 bursts and as many calms
  CHECK(rate_of(all) == doctest::Approx(1e6).epsilon(0.1));
  CHECK(std::ranges::is_sorted(all, {}, &arrival::time_ns));
  CHECK(dispersion(all, 1e5) > 10);

  // Rates are 10 and 1 by share .1 and .9 of an average of 1.9: in bursts are 1 / 1.9 of all arrivals, and
  // windows with more than twice the calm rate are a tenth of all.
  constexpr double window = 1e5;
  std::vector<int> counts(static_cast<std::size_t>(static_cast<double>(all.back().time_ns) / window) + 1);
  for (const arrival& a : all) ++counts[static_cast<std::size_t>(static_cast<double>(a.time_ns) / window)];
  const double calm = 1e6 / 1.9 * window / 1e9;
  double busy = 0, in_bursts = 0;
  for (const int c : counts)
    if (c > 3 * calm) ++busy, in_bursts += c;
  CHECK(busy / static_cast<double>(counts.size()) == doctest::Approx(0.1).epsilon(0.15));
  CHECK(in_bursts / static_cast<double>(all.size()) == doctest::Approx(1 / 1.9).epsilon(0.1));
}

TEST_CASE("arrival_stream: mmpp with a ratio of 1 is Poisson") {
  const auto all = take("mmpp,rate=1e5,burst=1", 200'000);
  CHECK(rate_of(all) == doctest::Approx(1e5).epsilon(0.01));
  CHECK(dispersion(all, 1e6) == doctest::Approx(1).epsilon(0.1));
}

TEST_CASE("arrival_stream: a seed repeats, and times and services do not touch one another") {
  const auto a = take("poisson,rate=1e5,service=exp:10us", 1000);
  const auto same = take("poisson,rate=1e5,service=exp:10us", 1000);
  const auto other_service = take("poisson,rate=1e5,service=lognormal:10us:2", 1000);
  const auto other_rate = take("poisson,rate=2e5,service=exp:10us", 1000);
  const auto other_seed = take("poisson,rate=1e5,service=exp:10us", 1000, 4, 2);
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(a[i].time_ns == same[i].time_ns);
    CHECK(a[i].service_ns == same[i].service_ns);
    CHECK(a[i].time_ns == other_service[i].time_ns);
    CHECK(a[i].service_ns != other_service[i].service_ns);
    CHECK(a[i].service_ns == other_rate[i].service_ns);
    CHECK(a[i].time_ns != other_seed[i].time_ns);
  }
  // The times of arrivals have nothing to do with the service times.
  double correlation = 0;
  const auto many = take("poisson,rate=1e5,service=exp:10us", 100'000);
  for (std::size_t i = 1; i < many.size(); ++i)
    correlation += (static_cast<double>(many[i].time_ns - many[i - 1].time_ns) / 1e4 - 1) *
                   (many[i].service_ns / 1e4 - 1);
  CHECK(std::abs(correlation / 100'000) < 0.02);
}

TEST_CASE("arrival_stream: extreme rates neither hang nor overflow") {
  const auto slow = take("poisson,rate=1e-9", 100);
  CHECK(std::ranges::is_sorted(slow, {}, &arrival::time_ns));
  CHECK(slow.front().time_ns >= 0);
  const auto bursts = take("mmpp,rate=1e-9,burst-length=3600s", 10);
  CHECK(std::ranges::is_sorted(bursts, {}, &arrival::time_ns));
  const auto fast = take("poisson,load=10,service=fixed:1ns", 100, 65536);
  CHECK(fast.back().time_ns >= 0);
}

TEST_CASE("arrival_stream: kinds without arrivals have none, and the stream can be moved") {
  for (const char* text : {"closed", "ping-pong", "yield-ring"}) {
    arrival_stream stream(parse_workload(text), 4, 1);
    CHECK(!stream.next());
    CHECK(stream.rate() == 0);
  }
  arrival_stream stream(parse_workload("poisson,rate=1e5"), 4, 1);
  arrival_stream moved = std::move(stream);
  CHECK(moved.next()->time_ns == take("poisson,rate=1e5", 1)[0].time_ns);
}
