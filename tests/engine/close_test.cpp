#include "small_engine.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <thread>

using namespace corewise;
using namespace std::chrono_literals;

TEST_CASE("shutdown: runs what is queued, then refuses; asking again answers the same") {
  engine e(small_profile(2));
  std::atomic<int> runs{0};
  for (int i = 0; i < 1000; ++i) CHECK(e.submit([&] { runs.fetch_add(1); }) == submit_result::accepted);
  CHECK(e.shutdown(10s).clean());
  CHECK(runs == 1000);
  CHECK(e.submit([&] { runs.fetch_add(1); }) == submit_result::stopping);
  CHECK(e.try_submit([&] { runs.fetch_add(1); }) == submit_result::stopping);
  CHECK(e.shutdown(1s).clean());
  e.drain();
  CHECK(runs == 1000);
}

TEST_CASE(
    "shutdown: at the deadline it answers who still runs and how much was dropped, and drops it unrun") {
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
  held->open(); // the engine is gone; its thread still has firm ground
  while (held.use_count() > 1) std::this_thread::yield();
  CHECK(runs == 0);
}

TEST_CASE("shutdown: a task that has given its seat away and still blocks is answered too") {
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

TEST_CASE("shutdown: tasks that were accepted before it may still submit") {
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

TEST_CASE("shutdown: what was accepted while it began is run; nothing is lost") {
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

TEST_CASE("destructor: says in the log what remained") {
  // The deadline is long, so the log is seen through `shutdown` here only where all went well: silence.
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
