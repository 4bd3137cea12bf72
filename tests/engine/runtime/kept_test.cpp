// The end of an engine whose coroutines wait for something into which another thread writes, and the request
// to stop that comes before the end.

#include "small_engine.hpp"
#include "suspended.hpp"
#include "token.hpp"

#include <corewise/engine/event.hpp>
#include <corewise/engine/oneshot.hpp>
#include <corewise/engine/select.hpp>
#include <corewise/engine/sleep.hpp>
#include <corewise/engine/when_all.hpp>

#include <doctest/doctest.h>

#include <thread>
#include <utility>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" // the one-piece oneshot

using namespace corewise;
using namespace corewise::tests;
using namespace std::chrono_literals;

namespace {

/// Waits for a value that another thread sends into this frame.
task<> asks(std::atomic<oneshot<token>*>& question, token /*held*/) {
  oneshot<token> answer;
  question = &answer;
  static_cast<void>(co_await answer.receive());
  FAIL("it went on");
}

task<> awaits(std::atomic<oneshot<token>*>& question, token held) {
  co_await asks(question, held);
  FAIL("it went on");
}

task<> waits_for_event(event& until, token /*held*/) {
  co_await until.wait();
  FAIL("it went on");
}

} // namespace

TEST_CASE("shutdown: a coroutine into whose frame a thread will write is kept, with all that awaits it") {
  std::atomic<int> alive{0};
  std::atomic<oneshot<token>*> question{nullptr};
  {
    engine e(small_profile(1));
    future<void> result = e.run(awaits(question, token(alive)));
    wait_until_suspended(e, 1);
    const int before = alive;
    const shutdown_report report = e.shutdown(0ms);
    REQUIRE(report.kept.size() == 1);
    CHECK(report.kept[0].kind == wait_kind::oneshot);
    CHECK(report.kept[0].coroutines == 1);
    CHECK(report.dropped == 0);
    CHECK_FALSE(report.clean());
    CHECK(alive == before);
    CHECK_THROWS_AS(result.get(), not_run);
    e.drain();
    CHECK(e.metrics().in_flight() == 0);
  }
  const int kept = alive;
  question.load()->send(alive);
  CHECK(alive == kept + 1); // the value lies in the frame
}

TEST_CASE("shutdown: a child that is kept keeps its parent, and its other children go") {
  std::atomic<int> alive{0};
  std::atomic<oneshot<token>*> first{nullptr};
  std::atomic<oneshot<token>*> second{nullptr};
  event never;
  {
    engine e(small_profile(2));
    const auto parent = [&]() -> task<> {
      co_await when_all(asks(first, token(alive)), waits_for_event(never, token(alive)),
                        asks(second, token(alive)));
      FAIL("it went on");
    };
    future<void> result = e.run(parent());
    wait_until_suspended(e, 3);
    const shutdown_report report = e.shutdown(0ms);
    REQUIRE(report.kept.size() == 1);
    CHECK(report.kept[0].coroutines == 2);
    CHECK(report.dropped == 0);
    CHECK_THROWS_AS(result.get(), not_run);
    e.drain();
  }
  first.load()->send(alive);
  second.load()->send(alive);
}

TEST_CASE(
    "shutdown: beside a child that is kept, one that was woken and one in a race do not hold the end up") {
  for (const auto& [woken, raced] : {std::pair{true, false}, std::pair{false, true}, std::pair{true, true}}) {
    CAPTURE(woken);
    CAPTURE(raced);
    std::atomic<int> alive{0};
    std::atomic<oneshot<token>*> question{nullptr};
    event first;
    event second;
    gate held;
    const auto races = [&]() -> task<> { static_cast<void>(co_await select(first.wait(), second.wait())); };
    const auto parent = [&]() -> task<> {
      task<> other = raced ? races() : waits_for_event(first, token(alive));
      co_await when_all(asks(question, token(alive)), std::move(other));
      FAIL("it went on");
    };
    engine e(small_profile(1));
    future<void> result = e.run(parent());
    wait_until_suspended(e, raced ? 3 : 2);
    if (woken) {
      hold_until_end(e, held);
      first.set(); // it is queued, and does not go on
      held.open();
    }
    static_cast<void>(e.shutdown(0ms));
    CHECK_THROWS_AS(result.get(), not_run);
    e.drain(); // the thread of the held task may be late
    question.load()->send(alive);
  }
}

TEST_CASE("shutdown: the stop comes at the call, or after the grace, and before the end") {
  for (const auto grace : {0ms, 50ms}) {
    CAPTURE(grace.count());
    engine e(small_profile(2));
    const auto stoppable = [&]() -> task<bool> { co_return co_await sleep_for(1h, e.stop_token()); };
    future<bool> slept = e.run(stoppable());
    CHECK_FALSE(e.stop_token().stop_requested());
    const auto called = std::chrono::steady_clock::now();
    const shutdown_report report = e.shutdown(grace, 10s);
    const auto took = std::chrono::steady_clock::now() - called;
    CHECK(report.clean());
    CHECK(took >= grace);
    CHECK(took < 5s);
    CHECK_FALSE(slept.get());
  }
}

TEST_CASE("shutdown: a task that ends within the grace hears of no stop before") {
  engine e(small_profile(2));
  const auto stop = e.stop_token();
  std::atomic<bool> stopped{true};
  REQUIRE(e.submit([&] {
    std::this_thread::sleep_for(20ms);
    stopped = stop.stop_requested();
  }) == submit_result::accepted);
  CHECK(e.shutdown(10s, 20s).clean());
  CHECK_FALSE(stopped);
  CHECK(stop.stop_requested());
}

TEST_CASE("shutdown: a deadline before the end of the grace cuts the grace short") {
  engine e(small_profile(1));
  REQUIRE(e.submit([]() -> task<> { co_await sleep_for(1h); }()) == submit_result::accepted);
  const auto called = std::chrono::steady_clock::now();
  CHECK(e.shutdown(1h, 20ms).dropped == 1);
  CHECK(std::chrono::steady_clock::now() - called < 10s);
}

TEST_CASE("destructor: tells tasks to stop before it waits for them") {
  std::atomic<bool> told{false};
  {
    engine e(small_profile(1));
    REQUIRE(e.submit([](engine& on, std::atomic<bool>& out) -> task<> {
      out = !co_await sleep_for(1h, on.stop_token());
    }(e, told)) == submit_result::accepted);
  }
  CHECK(told);
}
