#include "small_engine.hpp"
#include "suspended.hpp"

#include <corewise/engine/barrier.hpp>
#include <corewise/engine/deadline.hpp>
#include <corewise/engine/latch.hpp>
#include <corewise/engine/semaphore.hpp>
#include <corewise/engine/sleep.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <stdexcept>
#include <thread>

// A duration that is too long for nanoseconds means "never", and one that is too far below 0 means "now".

using namespace corewise;
using namespace std::chrono_literals;

namespace {

using clock_type = std::chrono::steady_clock;
using hour_point = std::chrono::time_point<clock_type, std::chrono::hours>;

constexpr auto for_ever = std::chrono::hours::max();
constexpr auto long_ago = std::chrono::hours::min();

void settle_for_a_moment() { std::this_thread::sleep_for(30ms); }

} // namespace

TEST_CASE("durations: a shutdown with the longest deadline runs all tasks, and with the shortest none") {
  std::atomic<int> ran{0};
  engine unhurried(small_profile(2));
  for (int i = 0; i < 8; ++i)
    REQUIRE(unhurried.submit([&] { std::this_thread::sleep_for(5ms), ++ran; }) == submit_result::accepted);
  CHECK(unhurried.shutdown(for_ever).dropped == 0);
  CHECK(ran == 8);

  engine hasty(small_profile(1));
  gate held;
  tests::hold_until_end(hasty, held);
  REQUIRE(hasty.submit([&] { ++ran; }) == submit_result::accepted);
  held.open();
  CHECK(hasty.shutdown(long_ago).dropped >= 1);
  CHECK(ran == 8);
}

TEST_CASE("durations: a future is waited for as long as it takes, or not at all") {
  engine e(small_profile(1));
  gate held;
  auto answer = e.run([&] { held.pass(); });
  held.wait_for(1);
  CHECK_FALSE(answer.wait_for(std::chrono::nanoseconds::min()));
  CHECK_FALSE(answer.wait_for(long_ago));
  CHECK_FALSE(answer.wait_until(hour_point::min()));
  std::thread opens([&] {
    settle_for_a_moment();
    held.open();
  });
  CHECK(answer.wait_for(for_ever));
  CHECK(answer.wait_until(hour_point::max()));
  opens.join();
}

TEST_CASE("durations: a call after the longest time stays pending, and one after the shortest is made now") {
  engine e(small_profile(1));
  std::atomic<int> calls{0};
  timer never = e.after(for_ever, [&] { ++calls; });
  timer never_again = e.every(std::chrono::duration<double>(1e30), [&] { ++calls; });
  settle_for_a_moment();
  CHECK(calls == 0);
  CHECK(e.metrics().timers_pending == 2);
  CHECK(never.cancel());
  CHECK(never_again.cancel());
  CHECK_THROWS_AS(e.every(long_ago, [] {}), std::invalid_argument);
  const timer now = e.after(long_ago, [&] { ++calls; });
  while (calls != 1) std::this_thread::yield();
}

TEST_CASE("durations: a coroutine sleeps for the longest time until it is stopped, and not in the past") {
  engine e(small_profile(1));
  std::stop_source stop;
  std::atomic<int> stopped{0};
  const auto sleeps = [&](auto time) -> task<> {
    bool came = false;
    if constexpr (requires { sleep_for(time, stop.get_token()); })
      came = co_await sleep_for(time, stop.get_token());
    else
      came = co_await sleep_until(time, stop.get_token());
    if (!came) ++stopped;
  };
  REQUIRE(e.submit(sleeps(for_ever)) == submit_result::accepted);
  REQUIRE(e.submit(sleeps(std::chrono::minutes::max())) == submit_result::accepted);
  REQUIRE(e.submit(sleeps(hour_point::max())) == submit_result::accepted);
  while (e.metrics().timers_pending != 3) std::this_thread::yield();
  settle_for_a_moment();
  CHECK(stopped == 0);
  stop.request_stop();
  e.drain();
  CHECK(stopped == 3);
  const auto does_not_sleep = []() -> task<> {
    co_await sleep_for(long_ago);
    co_await sleep_until(hour_point::min());
  };
  e.run(does_not_sleep()).get();
}

TEST_CASE("durations: work with the longest deadline ends in its time") {
  engine e(small_profile(1));
  const auto told = [](std::stop_token token) -> task<bool> {
    co_await sleep_for(5ms);
    co_return token.stop_requested();
  };
  CHECK_FALSE(e.run(with_deadline(for_ever, told)).get());
  CHECK(e.run(with_deadline(long_ago, told)).get());
  const auto answers = []() -> task<int> { co_return 7; };
  CHECK(e.run(with_deadline(answers(), for_ever)).get() == 7);
  CHECK_THROWS_AS(e.run(with_deadline(answers(), long_ago)).get(), deadline_expired);
}

TEST_CASE("durations: a hint's deadline may be as far away as it likes") {
  engine e(small_profile(1));
  std::atomic<int> ran{0};
  REQUIRE(e.submit([&] { ++ran; }, {.deadline = from_now(for_ever)}) == submit_result::accepted);
  REQUIRE(e.submit([&] { ++ran; }, {.deadline = hour_point::max()}) == submit_result::accepted);
  REQUIRE(e.submit([&] { ran += 100; }, {.deadline = hour_point::min()}) == submit_result::accepted);
  e.drain();
  CHECK(ran == 2);
  CHECK(e.metrics().total().expired == 1);
}

TEST_CASE("durations: semaphores, latches and barriers refuse a number that they cannot count") {
  CHECK_THROWS_AS(semaphore(semaphore::largest + 1), std::invalid_argument);
  CHECK_THROWS_AS(latch(latch::largest + 1), std::invalid_argument);
  CHECK_THROWS_AS(barrier(barrier::largest + 1), std::invalid_argument);
  semaphore full(semaphore::largest);
  full.release(7);
  CHECK(full.available() == semaphore::largest);
}
