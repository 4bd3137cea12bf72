// Work that must end in time: `with_deadline`.
//
// The tests set no upper limit for times: the machine may be busy. A test that hangs has lost a timer.

#include "sleepers.hpp"
#include "small_engine.hpp"

#include <corewise/engine/deadline.hpp>
#include <corewise/engine/engine.hpp>
#include <corewise/engine/sleep.hpp>

#include <doctest/doctest.h>

#include <thread>

using namespace corewise;
using namespace corewise::tests;
using namespace std::chrono_literals;

TEST_CASE(
    "deadlines: work in time returns its value, late work is asked to stop, and its exception is thrown") {
  engine e(small_profile(2));
  std::atomic<int> right{0};
  const auto body = [](std::atomic<int>& n) -> task<> {
    const int answer = co_await with_deadline(24h, [](std::stop_token) -> task<int> {
      co_await sleep_for(100us);
      co_return 7;
    });
    n += answer == 7 ? 1 : 0;
    const bool came = co_await with_deadline(
        1ms, [](std::stop_token token) -> task<bool> { co_return co_await sleep_for(24h, token); });
    n += came ? 0 : 1;
    bool thrown = false;
    try {
      co_await with_deadline(1ms, [](std::stop_token token) -> task<> {
        const bool slept = co_await sleep_for(24h, token);
        if (!slept) throw std::runtime_error("too late");
      });
    } catch (const std::runtime_error&) {
      thrown = true;
    }
    n += thrown ? 1 : 0;
  };
  REQUIRE(e.submit(body(right)) == submit_result::accepted);
  e.drain();
  CHECK(right == 3);
  CHECK(e.metrics().timers_pending == 0); // the first deadline was cancelled
}

TEST_CASE("deadlines: a stop from outside takes precedence") {
  engine e(small_profile(2));
  std::atomic<bool> begun{false};
  const auto body = [&](std::stop_token outer) -> task<bool> {
    const auto sleeps = [&](std::stop_token token) -> task<bool> {
      begun = true;
      begun.notify_all();
      co_return co_await sleep_for(24h, std::move(token));
    };
    co_return co_await with_deadline(std::move(outer), 12h, sleeps);
  };
  std::stop_source outside;
  future<bool> came = e.run(body(outside.get_token()));
  begun.wait(false);
  outside.request_stop();
  CHECK_FALSE(came.get());
  e.drain();
  CHECK(e.metrics().timers_pending == 0);
  CHECK_FALSE(sync_wait(e, body(outside.get_token()))); // stopped before it began
}

TEST_CASE("deadlines: a task that has not ended in time is an error, and its stop source is triggered") {
  engine e(small_profile(2));
  const auto sleeps = [](std::chrono::nanoseconds d, std::stop_token token) -> task<std::unique_ptr<bool>> {
    const bool came = co_await sleep_for(d, std::move(token));
    co_return std::make_unique<bool>(came);
  };
  const auto fails = []() -> task<> {
    co_await sleep_for(2ms);
    throw std::runtime_error("its own");
  };
  const auto in_time = [&]() -> task<bool> {
    const std::unique_ptr<bool> came = co_await with_deadline(sleeps(100us, {}), 24h);
    co_return *came;
  };
  const auto late = [&]() -> task<> { co_await with_deadline(sleeps(2ms, {}), 1ms); };
  const auto told = [&]() -> task<> {
    std::stop_source stop;
    co_await with_deadline(sleeps(24h, stop.get_token()), 1ms, stop);
  };
  const auto late_and_fails = [&]() -> task<> { co_await with_deadline(fails(), 1ms); };
  CHECK(sync_wait(e, in_time()));
  CHECK_THROWS_WITH_AS(sync_wait(e, late()), "the task had not ended at its deadline", deadline_expired);
  CHECK_THROWS_AS(sync_wait(e, told()), deadline_expired);
  CHECK_THROWS_WITH_AS(sync_wait(e, late_and_fails()), "its own", std::runtime_error);
  CHECK(e.metrics().timers_pending == 0);
}

TEST_CASE("deadlines: they end tasks that a shutdown waits for, and tasks that fill the engine") {
  profile p = small_profile(1);
  p.limits.in_flight = 1;
  engine e(p);
  std::atomic<int> told{0};
  const auto body = [](std::atomic<int>& n) -> task<> {
    const bool came = co_await with_deadline(
        5ms, [](std::stop_token token) -> task<bool> { co_return co_await sleep_for(24h, token); });
    n += came ? 0 : 1;
  };
  REQUIRE(e.submit(body(told)) == submit_result::accepted);
  while (e.metrics().timers_pending != 2 && told == 0) std::this_thread::yield(); // 5 ms may pass meanwhile
  CHECK(e.shutdown(1h).clean());
  CHECK(told == 1);
}
