// The end of a sleep: its time has come, a stop, or the end of the engine.
//
// The tests set no upper limit for times: the machine may be busy. A test that hangs has lost a timer.

#include "fire_and_forget.hpp"
#include "sleepers.hpp"
#include "small_engine.hpp"
#include "token.hpp"

#include <corewise/engine/engine.hpp>
#include <corewise/engine/sleep.hpp>

#include <doctest/doctest.h>

#include <random>
#include <thread>

using namespace corewise;
using namespace corewise::tests;
using namespace std::chrono_literals;

TEST_CASE("timers: a sleep until a past time does not suspend") {
  engine e(small_profile(1));
  std::atomic<int> steps{0};
  REQUIRE(e.submit([](std::atomic<int>& n) -> task<> {
    co_await sleep_for(0s);
    co_await sleep_for(-1h);
    co_await sleep_until(clock_type::now());
    co_await sleep_until(clock_type::time_point::min());
    std::stop_source stop;
    if (co_await sleep_for(0s, stop.get_token())) ++n;
  }(steps)) == submit_result::accepted);
  e.drain();
  CHECK(steps == 1);
  CHECK(e.metrics().timers_fired == 0);
}

TEST_CASE("timers: the longest sleep does not overflow, and a stop ends it") {
  engine e(small_profile(1));
  std::stop_source stop;
  std::atomic<int> stopped{0};
  const auto body = [](std::stop_token token, std::atomic<int>& n) -> task<> {
    if (!co_await sleep_for(std::chrono::nanoseconds::max(), token)) ++n;
    if (!co_await sleep_until(clock_type::time_point::max(), token)) ++n;
  };
  REQUIRE(e.submit(body(stop.get_token(), stopped)) == submit_result::accepted);
  wait_for_pending(e, 1);
  stop.request_stop();
  e.drain();
  CHECK(stopped == 2); // the second sleep did not begin
  CHECK(e.metrics().timers_cancelled == 1);
}

TEST_CASE("timers: a stop from outside and one from another task end sleeps") {
  engine e(small_profile(2));
  std::atomic<int> came{0};
  std::atomic<int> stopped{0};
  std::stop_source first;
  std::stop_source second;
  for (int i = 0; i < 100; ++i)
    for (const std::stop_source* s : {&first, &second})
      REQUIRE(e.submit(sleep_until_stopped(s->get_token(), came, stopped)) == submit_result::accepted);
  wait_for_pending(e, 200);
  first.request_stop();
  REQUIRE(e.submit([&] { second.request_stop(); }) == submit_result::accepted);
  e.drain();
  CHECK(stopped == 200);
  CHECK(came == 0);
}

TEST_CASE("timers: when a stop and a timer meet, exactly one ends the sleep") {
  const std::uint64_t seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  engine e(small_profile(3));
  std::atomic<int> came{0};
  std::atomic<int> stopped{0};
  constexpr int rounds = 300;
  constexpr int sleepers = 30;
  const auto sleeper = [](std::chrono::nanoseconds d, std::stop_token token, std::atomic<int>& in_time,
                          std::atomic<int>& before) -> task<> {
    const bool slept = co_await sleep_for(d, token);
    ++(slept ? in_time : before);
  };
  for (int round = 0; round < rounds; ++round) {
    std::stop_source stop;
    for (int i = 0; i < sleepers; ++i)
      REQUIRE(e.submit(sleeper(std::chrono::nanoseconds(random() % 300'000), stop.get_token(), came,
                               stopped)) == submit_result::accepted);
    const auto until = clock_type::now() + std::chrono::nanoseconds(random() % 300'000);
    while (clock_type::now() < until) {
    }
    stop.request_stop();
    if (round % 10 == 0) e.drain();
  }
  e.drain();
  CHECK(came + stopped == rounds * sleepers);
  CHECK(e.metrics().timers_pending == 0);
}

TEST_CASE("timers: outside of an engine the thread sleeps, and a stop ends that sleep as well") {
  bool came = false;
  bool stopped = false;
  const auto begin = clock_type::now();
  std::stop_source stop;
  std::thread stopper;
  [](bool& in_time, bool& before, std::stop_source& source, std::thread& other) -> fire_and_forget {
    in_time = co_await sleep_for(3ms, source.get_token());
    other = std::thread([&] { source.request_stop(); });
    before = !co_await sleep_for(24h, source.get_token());
  }(came, stopped, stop, stopper);
  stopper.join();
  CHECK(came);
  CHECK(stopped);
  CHECK(clock_type::now() >= begin + 3ms);
}

TEST_CASE("timers: shutdown destroys sleeping coroutines and later calls") {
  std::atomic<int> alive{0};
  std::atomic<int> done{0};
  engine e(small_profile(2));
  const auto sleeper = [](token, std::atomic<int>& n) -> task<> {
    co_await [](std::atomic<int>& inner) -> task<> {
      co_await sleep_for(24h);
      ++inner;
    }(n);
  };
  for (int i = 0; i < 10; ++i) REQUIRE(e.submit(sleeper(token(alive), done)) == submit_result::accepted);
  std::stop_source stop;
  std::atomic<int> came{0};
  std::atomic<int> stopped{0};
  REQUIRE(e.submit(sleep_until_stopped(stop.get_token(), came, stopped)) == submit_result::accepted);
  static_cast<void>(e.after(24h, [kept = token(alive), &done] { ++done; }));
  static_cast<void>(e.every(24h, [kept = token(alive), &done] { ++done; }));
  wait_for_pending(e, 13);
  const shutdown_report report = e.shutdown(5ms);
  CHECK(report.dropped == 11); // calls that were not due were no tasks yet
  CHECK(report.running.empty());
  CHECK(alive == 0);
  CHECK(done == 0);
  CHECK(e.metrics().in_flight() == 0);
  CHECK(e.metrics().timers_pending == 0);
  stop.request_stop();
  CHECK_FALSE(e.after(1ms, [] {}));
  CHECK_FALSE(e.every(1ms, [] {}));
}

TEST_CASE("timers: a shutdown waits for sleeping coroutines, up to its deadline") {
  engine e(small_profile(1));
  std::atomic<int> done{0};
  std::atomic<int> early{0};
  REQUIRE(e.submit(sleep_and_count(5ms, done, early)) == submit_result::accepted);
  CHECK(e.shutdown(1h).clean());
  CHECK(done == 1);
}

TEST_CASE("timers: a coroutine that goes to sleep while the engine ends is destroyed") {
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> alive{0};
    {
      engine e(small_profile(2));
      const auto restless = [](token) -> task<> {
        for (;;) co_await sleep_for(20us);
      };
      for (int i = 0; i < 20; ++i) REQUIRE(e.submit(restless(token(alive))) == submit_result::accepted);
      const timer beats = e.every(30us, [] {});
      const shutdown_report report = e.shutdown(1ms);
      CHECK(report.dropped >= 20);
    }
    CHECK(alive == 0);
  }
}
