#include "small_engine.hpp"

#include <corewise/engine/event.hpp>
#include <corewise/engine/oneshot.hpp>
#include <corewise/engine/yield.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <thread>
#include <vector>

using namespace corewise;
using namespace std::chrono_literals;

TEST_CASE("shutdown: it runs queued tasks, then refuses new ones, and a second call gives the same answer") {
  engine e(small_profile(2));
  std::atomic<int> runs{0};
  for (int i = 0; i < 1000; ++i) CHECK(e.submit([&] { runs.fetch_add(1); }) == submit_result::accepted);
  CHECK(e.shutdown(10s).clean());
  CHECK(runs == 1000);
  CHECK(e.submit([&] { runs.fetch_add(1); }) == submit_result::stopping);
  CHECK(e.try_submit([&] { runs.fetch_add(1); }) == submit_result::stopping);
  CHECK(e.metrics().refused_stopping == 2);
  CHECK(e.metrics().rejected == 0);
  CHECK(e.shutdown(1s).clean());
  e.drain();
  CHECK(runs == 1000);
}

TEST_CASE("shutdown: at the deadline it drops waiting tasks unrun, and reports their number and the running "
          "tasks") {
  auto held = std::make_shared<gate>();
  auto token = std::make_shared<int>(1);
  std::atomic<int> runs{0};
  shutdown_report report;
  {
    engine e(small_profile(1));
    CHECK(e.submit([held] { held->pass(); }) == submit_result::accepted);
    held->wait_for(1);
    for (int i = 0; i < 10; ++i)
      CHECK(e.submit([&, token] { runs.fetch_add(1); }) == submit_result::accepted);
    CHECK(token.use_count() == 11);
    report = e.shutdown(20ms);
    CHECK(report.dropped == 10);
    REQUIRE(report.running.size() == 1);
    CHECK(report.running[0].worker.value == 0);
    CHECK(report.running[0].since >= 20ms);
    CHECK(token.use_count() == 1);
    CHECK(e.metrics().in_flight() == 1);
  }
  held->open(); // the engine is gone; `held` still exists for its thread
  while (held.use_count() > 1) std::this_thread::yield();
  CHECK(runs == 0);
}

TEST_CASE("shutdown: tasks in slot and ring of the only worker are dropped while its task runs") {
  auto held = std::make_shared<gate>();
  auto token = std::make_shared<int>(1);
  std::atomic<int> runs{0};
  {
    engine e(small_profile(1));
    const auto submit = [&] {
      for (int i = 0; i < 10; ++i)
        CHECK(e.submit([&runs, token] { runs.fetch_add(1); }) == submit_result::accepted);
    };
    CHECK(e.submit([&submit, held] { // `submit` is gone when this task goes on
      submit();
      held->pass();
    }) == submit_result::accepted);
    held->wait_for(1);
    CHECK(token.use_count() == 11);
    CHECK(e.shutdown(5ms).dropped == 10);
    CHECK(e.metrics().dropped == 10);
    CHECK(token.use_count() == 1);
  }
  held->open();
  while (held.use_count() > 1) std::this_thread::yield();
  CHECK(runs == 0);
}

namespace {

task<> yields_for_ever(std::shared_ptr<int> /*held*/, std::atomic<int>& begun) {
  for (begun.fetch_add(1);;) co_await yield();
}

task<> waits_for_one(std::shared_ptr<int> /*held*/, event& happens) { co_await happens.wait(); }

} // namespace

TEST_CASE("shutdown: coroutines that yield on the only worker are dropped once, although other threads drop "
          "as well") {
  constexpr int several = 100;
  for (int round = 0; round < 20; ++round) {
    auto token = std::make_shared<int>(1);
    std::vector<event> events(several);
    std::atomic<int> begun{0};
    engine e(small_profile(1));
    for (event& happens : events) {
      CHECK(e.submit(yields_for_ever(token, begun)) == submit_result::accepted);
      CHECK(e.submit(waits_for_one(token, happens)) == submit_result::accepted);
    }
    while (begun.load() != several) std::this_thread::yield();
    std::thread waking([&] { // a wake-up after the end of an engine drops the tasks queued there
      for (event& happens : events) happens.set();
    });
    e.shutdown(0ms);
    waking.join();
    CHECK(token.use_count() == 1);
  }
}

TEST_CASE("shutdown: the report also names a task that has lost its seat and still blocks") {
  auto held = std::make_shared<gate>();
  {
    engine e(small_profile(1));
    CHECK(e.submit([held] { blocking([&] { held->pass(); }); }) == submit_result::accepted);
    held->wait_for(1);
    const shutdown_report report = e.shutdown(10ms);
    REQUIRE(report.running.size() == 1);
    CHECK(report.dropped == 0);
  }
  held->open();
  while (held.use_count() > 1) std::this_thread::yield();
}

TEST_CASE("shutdown: tasks that were accepted before may still submit") {
  engine e(small_profile(2));
  std::atomic<int> runs{0};
  gate held;
  CHECK(e.submit([&] {
    held.pass();
    if (e.submit([&] { runs.fetch_add(1); }) == submit_result::accepted) runs.fetch_add(1);
  }) == submit_result::accepted);
  held.wait_for(1);
  std::thread opener([&] {
    while (e.submit([] {}) != submit_result::stopping) std::this_thread::yield();
    held.open();
  });
  CHECK(e.shutdown(10s).clean());
  opener.join();
  CHECK(runs == 2);
}

TEST_CASE("shutdown: tasks that were accepted while it began run, and none is lost") {
  for (int round = 0; round < 100; ++round) {
    std::atomic<int> accepted{0};
    std::atomic<int> runs{0};
    engine e(small_profile(2));
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t)
      threads.emplace_back([&] {
        while (e.submit([&] { runs.fetch_add(1); }) == submit_result::accepted) accepted.fetch_add(1);
      });
    std::this_thread::sleep_for(std::chrono::microseconds{round * 10});
    CHECK(e.shutdown(10s).clean());
    for (auto& t : threads) t.join();
    CHECK(runs == accepted);
  }
}

TEST_CASE("destructor: it logs the work that remained") {
  // The deadline is long. So the test sees the log only where all went well: the log must be silent.
  std::atomic<int> lines{0};
  {
    engine_hooks hooks;
    hooks.log = [&](std::string_view) { lines.fetch_add(1); };
    profile p = small_profile(2);
    engine e(p, hooks);
    CHECK(e.submit([] {}) == submit_result::accepted);
  }
  CHECK(lines == 0);
}

TEST_CASE("shutdown: a coroutine that a dropped task wakes is dropped as well, and a drain meanwhile ends") {
  auto token = std::make_shared<int>(1);
  auto halves = make_oneshot<int>();
  gate held;
  std::atomic<bool> waits{false};
  engine e(small_profile(1));
  const auto receive = [](oneshot_receiver<int> from, std::atomic<bool>& begun,
                          std::shared_ptr<int>) -> task<> {
    begun = true;
    co_await from.receive();
  };
  REQUIRE(e.submit(receive(std::move(halves.second), waits, token)) == submit_result::accepted);
  while (!waits) std::this_thread::yield();
  REQUIRE(e.submit([&] { held.pass(); }) == submit_result::accepted);
  held.wait_for(1);              // the receiver is suspended
  for (int i = 0; i < 3000; ++i) // more than the inbox holds: the sender waits in the injection queue
    REQUIRE(e.submit([] {}) == submit_result::accepted);
  // A sender that is destroyed with its task wakes the receiver.
  REQUIRE(e.submit([s = std::move(halves.first)] {}) == submit_result::accepted);
  std::thread drains([&] { e.drain(); });
  CHECK(e.shutdown(20ms).dropped == 3002);
  CHECK(token.use_count() == 1);
  held.open();
  drains.join();
  CHECK(e.metrics().in_flight() == 0);
}

TEST_CASE("shutdown: a coroutine that yields after the deadline is destroyed, and a drain meanwhile ends") {
  auto token = std::make_shared<int>(1);
  gate held;
  engine e(small_profile(2));
  const auto late = [](gate& until, std::shared_ptr<int>) -> task<> {
    until.pass();
    co_await yield();
  };
  const auto late_without_seat = [](gate& until, std::shared_ptr<int>) -> task<> {
    blocking([&] { until.pass(); });
    co_await yield();
  };
  REQUIRE(e.submit(late(held, token)) == submit_result::accepted);
  REQUIRE(e.submit(late_without_seat(held, token)) == submit_result::accepted);
  held.wait_for(2);
  CHECK(e.shutdown(20ms).running.size() == 2);
  std::thread drains([&] { e.drain(); });
  held.open();
  drains.join();
  CHECK(token.use_count() == 1);
  CHECK(e.metrics().in_flight() == 0);
}
