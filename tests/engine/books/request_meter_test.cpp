#include "books/latency_book.hpp"

#include <corewise/engine/request_meter.hpp>

#include <doctest/doctest.h>

#include <optional>
#include <thread>
#include <vector>

using corewise::request_counts;
using corewise::request_meter;
using corewise::detail::latency_book;
using corewise::detail::monotonic;
using namespace std::chrono_literals;

TEST_CASE("latencies: the median is that of requests that found as many others, or else the nearest number") {
  latency_book book;
  const monotonic::time_point now = monotonic::now();
  CHECK_FALSE(book.median_near(0, now));
  for (const auto ms : {3ms, 1ms, 2ms, 900ms}) book.add(2, ms, now);
  for (int i = 0; i < 4; ++i) book.add(40, 70ms, now);
  CHECK(book.median_near(2, now) == 2ms);
  CHECK(book.median_near(0, now) == 2ms);
  CHECK(book.median_near(40, now) == 70ms);
  CHECK(book.median_near(41, now) == 70ms);                   // the same quarter of an octave
  CHECK(book.median_near(1'000'000, now) == 70ms);            // the nearest there is
  for (int i = 0; i < 4; ++i) book.add(100'000'000, 5h, now); // beyond the last shelf, and too long
  CHECK(*book.median_near(1'000'000'000, now) > 18min);
}

TEST_CASE("latencies: fewer than four are filled up by neighbours; old ones do not count, the newest 16 do") {
  latency_book book;
  const monotonic::time_point now = monotonic::now();
  book.add(5, 9ms, now);
  for (int i = 0; i < 6; ++i) book.add(6, 1ms, now);
  CHECK(book.median_near(5, now) == 1ms);
  for (int i = 0; i < 3; ++i) book.add(5, 9ms, now);
  CHECK(book.median_near(5, now) == 9ms);
  for (int i = 0; i < 16; ++i) book.add(5, 4ms, now);
  CHECK(book.median_near(5, now) == 4ms);
  CHECK(book.median_near(5, now + 9s) == 4ms);
  CHECK_FALSE(book.median_near(5, now + 11s));
  book.add(3, 8ms, now + 11s);
  CHECK(book.median_near(5, now + 11s) == 8ms);
}

TEST_CASE("request meter: it counts those in flight, those that failed, and what they found") {
  request_meter meter(7);
  CHECK(meter.limit() == 7);
  CHECK_FALSE(meter.latency());
  {
    request_meter::request first = meter.begin();
    const request_meter::request moved = std::move(first);
    request_meter::request second = meter.begin();
    second.fail();
    std::this_thread::sleep_for(2ms);
    CHECK(meter.counts().in_flight() == 2);
  }
  const request_counts counts = meter.counts();
  CHECK(counts.begun == 2);
  CHECK(counts.ended == 2);
  CHECK(counts.failed == 1);
  CHECK(counts.found == 1);
  REQUIRE(meter.latency());
  CHECK(*meter.latency() >= 2ms);
}

TEST_CASE(
    "request meter: threads that begin and end requests lose none, and a reader never sees less than none") {
  constexpr int threads = 4;
  constexpr int each = 20'000;
  request_meter meter;
  {
    std::vector<std::jthread> all;
    for (int i = 0; i < threads; ++i)
      all.emplace_back([&] {
        for (int n = 0; n < each; ++n) {
          auto here = meter.begin();
          if (n % 4 == 0) here.fail();
        }
      });
    for (int i = 0; i < 2'000; ++i) {
      REQUIRE(meter.counts().in_flight() <= threads);
      static_cast<void>(meter.latency());
    }
  }
  CHECK(meter.counts().ended == threads * each);
  CHECK(meter.counts().failed == threads * each / 4);
  CHECK(meter.counts().in_flight() == 0);
  CHECK(meter.counts().found <= std::uint64_t{threads - 1} * threads * each);
}

TEST_CASE("request meter: the latency is that of requests that found as many as there are now") {
  request_meter meter;
  for (int i = 0; i < 15; ++i) static_cast<void>(meter.begin());
  {
    const request_meter::request other = meter.begin();
    for (int i = 0; i < 4; ++i) {
      const request_meter::request slow = meter.begin();
      std::this_thread::sleep_for(20ms);
    }
    CHECK(*meter.latency() >= 20ms);
  }
  CHECK(*meter.latency() < 20ms);
}
