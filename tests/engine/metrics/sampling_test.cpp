#include "books/sampling.hpp"
#include "small_engine.hpp"
#include "within.hpp"
#include "worker/worker_report.hpp"

#include <corewise/engine/channel.hpp>
#include <corewise/engine/run_blocking.hpp>
#include <corewise/engine/sleep.hpp>
#include <corewise/engine/task.hpp>
#include <corewise/engine/yield.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <thread>
#include <vector>

using namespace corewise;
using namespace std::chrono_literals;

namespace {

using clock_type = std::chrono::steady_clock;

void spin_for(std::chrono::nanoseconds time) {
  for (const auto until = clock_type::now() + time; clock_type::now() < until;) {
  }
}

/// Returns the part of the times that are within each bound.
std::vector<double> distribution(const time_histogram& of) {
  std::vector<double> parts;
  std::uint64_t below = 0;
  for (const std::uint64_t n : of.counts)
    parts.push_back(static_cast<double>(below += n) / static_cast<double>(of.count()));
  return parts;
}

double greatest_distance(const std::vector<double>& a, const std::vector<double>& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

void count(time_histogram& in, std::chrono::nanoseconds time) {
  std::size_t i = 0;
  while (i < time_histogram::bounds && time > time_histogram::bound(i)) ++i;
  ++in.counts[i];
}

} // namespace

TEST_CASE("metrics: bursts of 64 tasks do not distort the sampled waiting times") {
  constexpr int bursts = 500;
  constexpr int burst = 64; // as many as there are tasks for a sample
  engine e(small_profile(1));
  time_histogram all; // what each task has seen itself
  e.run([&]() -> task<> {
     std::uint64_t submitted = 0;
     for (int i = 0; i < bursts; ++i) {
       for (int j = 0; j < burst; ++j, ++submitted)
         if (e.submit([&all, from = clock_type::now()] {
               count(all, clock_type::now() - from);
               spin_for(2us);
             }) != submit_result::accepted)
           std::abort();
       while (all.count() != submitted) co_await yield();
     }
   }).get();
  e.drain();
  const time_histogram sampled = e.metrics().total().waited[0];
  const double expected = static_cast<double>(bursts * burst) / 64;
  CHECK(static_cast<double>(sampled.count()) > .8 * expected);
  CHECK(static_cast<double>(sampled.count()) < 1.2 * expected);
  CHECK(greatest_distance(distribution(sampled), distribution(all)) < .12);
}

TEST_CASE("metrics: sampled times have the class of their task, also when a coroutine goes on") {
  engine e(small_profile(1));
  const auto twice = []() -> task<> { co_await sleep_for(1us); };
  for (int i = 0; i < 2000; ++i) { // fewer than 6 samples of each 2,000 come once in a hundred million runs
    e.run(twice(), urgent).get();
    CHECK(e.submit([] {}, patient) == submit_result::accepted);
  }
  e.drain();
  const worker_metrics seen = e.metrics().total();
  CHECK(seen.waited[static_cast<std::size_t>(task_class::latency)].count() > 15);
  CHECK(seen.waited[static_cast<std::size_t>(task_class::background)].count() > 5);
  CHECK(seen.waited[static_cast<std::size_t>(task_class::normal)].count() < 3);
  for (std::size_t c = 0; c < class_count; ++c)
    CHECK(within(
        5s, [&] { return e.metrics().total().ran[c].count() == seen.waited[c].count(); })); // counted last
}

TEST_CASE("metrics: a sampled task tells how long it ran") {
  engine e(small_profile(1));
  for (int i = 0; i < 640; ++i) CHECK(e.submit([] { spin_for(100us); }) == submit_result::accepted);
  e.drain();
  const time_histogram ran = e.metrics().total().ran[0];
  REQUIRE(ran.count() > 3);
  CHECK(ran.counts[6] + ran.counts[5] + ran.counts[4] == 0); // 64 us and less
  CHECK(ran.sum >= 100us * static_cast<int>(ran.count()));
}

TEST_CASE("metrics: coroutines that yield are sampled where they begin, and until they yield") {
  constexpr int rounds = 100;
  constexpr int coroutines = 200; // of a round; the ring has room for them
  constexpr int turns = 20;
  engine e(small_profile(1));
  time_histogram all; // what each coroutine has seen itself
  int ended = 0;
  const auto yielding = [&](clock_type::time_point from) -> task<> {
    count(all, clock_type::now() - from);
    for (int i = 0; i < turns; ++i) {
      std::atomic<int> work{0};
      while (work.fetch_add(1) < 40) { // some 200 ns
      }
      co_await yield();
    }
    ++ended;
  };
  const auto begin = clock_type::now();
  e.run([&]() -> task<> {
     for (int submitted = 0; submitted < rounds * coroutines;) {
       for (int i = 0; i < coroutines; ++i, ++submitted)
         static_cast<void>(e.submit(yielding(clock_type::now())));
       while (ended != submitted) co_await yield();
     }
   }).get();
  e.drain();
  const auto turn = (clock_type::now() - begin) / (rounds * coroutines * turns);
  const worker_metrics seen = e.metrics().total();
  REQUIRE(seen.ran[0].count() > 100);
  CHECK(seen.ran[0].quantile(.75) <= 2us + 16 * turn); // up to 128 turns come between two looks at the clock
  CHECK(greatest_distance(distribution(seen.waited[0]), distribution(all)) < .15);
}

TEST_CASE("metrics: a coroutine that waited for a permit to block keeps its class") {
  profile p = small_profile(2);
  p.blocking.max_concurrent = 1;
  engine e(p);
  const auto call = []() -> task<> {
    auto rest = [] { std::this_thread::sleep_for(10us); };
    co_await run_blocking(rest);
  };
  for (int i = 0; i < 2000; ++i) CHECK(e.submit(call(), urgent) == submit_result::accepted);
  e.drain();
  const worker_metrics seen = e.metrics().total();
  CHECK(seen.waited[static_cast<std::size_t>(task_class::latency)].count() > 15);
  CHECK(seen.waited[static_cast<std::size_t>(task_class::normal)].count() == 0);
}

TEST_CASE("metrics: each way to go on is sampled") {
  constexpr int times = 3200; // 50 samples
  const auto sampled = [](const auto& way) {
    engine e(small_profile(1));
    e.run(way(e)).get();
    return e.metrics().total().waited[0].count();
  };
  CHECK(sampled([](engine& /*e*/) -> task<> {
          for (int i = 0; i < times; ++i) co_await sleep_for(1us);
        }) > 20);
  CHECK(sampled([](engine& e) -> task<> {
          for (int i = 0; i < times; ++i) co_await e.schedule();
        }) > 20);
  channel<int> to(1);
  const auto send = [&]() -> task<> {
    for (int i = 0; i < times; ++i) co_await to.send(int{i});
  };
  CHECK(sampled([&](engine& e) -> task<> { // woken by another
          static_cast<void>(e.submit(send()));
          for (int i = 0; i < times; ++i) static_cast<void>(co_await to.receive());
        }) > 20);
}

TEST_CASE(
    "metrics: a stamp tells its age, also from one round of stamps to the next, and who found the task") {
  using detail::queue_stamp;
  constexpr std::chrono::nanoseconds round{(std::int64_t{1} << 31) * 256};
  for (const auto begin : {0ns, 100ns, std::chrono::nanoseconds{1h}, round - 2ms, round, 2 * round - 1ms})
    for (const bool by_driver : {false, true}) {
      const detail::monotonic::time_point then{begin};
      const std::uint32_t stamp = queue_stamp::at(then, by_driver);
      CHECK(stamp != 0);
      CHECK(queue_stamp::is_by_driver(stamp) == by_driver);
      CHECK(queue_stamp::age(stamp, then) <= 256ns);
      const auto age = queue_stamp::age(stamp, then + 5ms);
      CHECK(age > 5ms - 1us);
      CHECK(age < 5ms + 1us);
    }
}

TEST_CASE("metrics: each timer tells how late it fired") {
  engine e(small_profile(1));
  for (int i = 0; i < 5; ++i) e.run([]() -> task<> { co_await sleep_for(1ms); }).get();
  const metrics_snapshot m = e.metrics();
  CHECK(m.timers_fired == 5);
  CHECK(m.total().timers_late.count() == 5);
  CHECK(m.total().timers_late.sum > 0ns);
}

TEST_CASE("metrics: a time that is read while it changes never falls") {
  const detail::worker_report report;
  CHECK(report.busy_never_less(5ms) == 5ms);
  CHECK(report.busy_never_less(3ms) == 5ms);
  CHECK(report.busy_never_less(6ms) == 6ms);
}

TEST_CASE("metrics: work that ends while its time is read is not missed") {
  detail::worker_report report;
  std::jthread worker([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const auto now = detail::monotonic::now();
      report.begin_work(now - 1min);
      report.end_work(now);
    }
  });
  std::chrono::nanoseconds last{0};
  for (const auto end = std::chrono::steady_clock::now() + 200ms; std::chrono::steady_clock::now() < end;) {
    const std::chrono::nanoseconds busy = report.busy();
    CHECK(busy > last - 1s); // while it works the reader's clock is a little ahead
    last = busy;
  }
  CHECK(last >= 1min);
}
