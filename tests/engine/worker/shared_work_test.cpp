#include "base/task_clock.hpp"

#include <corewise/policies/shared_work.hpp>

#include <doctest/doctest.h>

#include <cmath>

using namespace corewise;
using detail::task_clock;
using namespace std::chrono_literals;

TEST_CASE("interval: it follows the table, between 8 and 255") {
  constexpr integer_range bounds{8, 255};
  constexpr auto of = [=](std::uint64_t average_ns) { return interval_of(1ms, average_ns, bounds); };
  CHECK(of(1'000) == 255);
  CHECK(of(10'000) == 100);
  CHECK(of(50'000) == 20);
  CHECK(of(100'000) == 10);
  CHECK(of(1'000'000) == 8);
  CHECK(of(0) == 255);
  CHECK(of(3'921) == 255);
  CHECK(of(3'922) == 254);
  CHECK(of(112'000) == 8);
  CHECK(interval_of(1ms, 50'000, {61, 61}) == 61);
  CHECK(interval_of(2ms, 50'000, bounds) == 40);
}

TEST_CASE("batch: it is a worker's share of the queue, between 4 and 64") {
  constexpr integer_range bounds{4, 64};
  CHECK(batch_of(0, 4, bounds) == 4);
  CHECK(batch_of(19, 4, bounds) == 4);
  CHECK(batch_of(20, 4, bounds) == 5);
  CHECK(batch_of(23, 4, bounds) == 5);
  CHECK(batch_of(255, 4, bounds) == 63);
  CHECK(batch_of(256, 4, bounds) == 64);
  CHECK(batch_of(100'000, 4, bounds) == 64);
  CHECK(batch_of(100'000, 1, {1, 1}) == 1);
}

TEST_CASE("oldest first: it begins at the task time of the profile, or never") {
  CHECK(takes_oldest_first(std::chrono::microseconds{20}, 20'000));
  CHECK_FALSE(takes_oldest_first(std::chrono::microseconds{20}, 19'999));
  CHECK_FALSE(takes_oldest_first({}, 1'000'000'000));
}

TEST_CASE("backlog: the next look comes after one turn of the ring, at the latest after the interval") {
  CHECK(look_at_backlog(100, 0) == 1);
  CHECK(look_at_backlog(100, 64) == 65);
  CHECK(look_at_backlog(100, 256) == 100);
}

TEST_CASE("task clock: the first estimate is 50 us, and one tick counts a tenth") {
  task_clock clock;
  CHECK(clock.average_ns() == 50'000);
  clock.sample(100us, 1);
  CHECK(clock.average_ns() == 55'000);
  clock.sample(1000us, 100); // 10 us a task
  CHECK(clock.average_ns() == 50'500);
}

TEST_CASE("task clock: an empty tick is no sample") {
  task_clock clock;
  clock.sample(10ms, 0);
  CHECK(clock.average_ns() == 50'000);
}

TEST_CASE("task clock: it converges in 10 to 20 ticks") {
  for (const std::int64_t truth : {1'000, 10'000, 100'000, 1'000'000}) {
    CAPTURE(truth);
    task_clock clock;
    const double off_at_first = std::abs(50'000. - static_cast<double>(truth));
    const auto off = [&] {
      return std::abs(static_cast<double>(clock.average_ns()) - static_cast<double>(truth));
    };
    for (int tick = 0; tick < 10; ++tick) clock.sample(std::chrono::nanoseconds{truth * 128}, 128);
    CHECK(off() == doctest::Approx(.3487 * off_at_first).epsilon(.01)); // 0.9^10
    for (int tick = 0; tick < 10; ++tick) clock.sample(std::chrono::nanoseconds{truth * 128}, 128);
    CHECK(off() == doctest::Approx(.1216 * off_at_first).epsilon(.01)); // 0.9^20
  }
}
