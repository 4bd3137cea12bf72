#include "faults.hpp"
#include "small_engine.hpp"

#include <corewise/engine/event.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

// The only worker of an engine takes from its ring as if it were alone, and is held at one of its steps.
// Meanwhile another thread destroys the tasks queued there, as a thread does that wakes a coroutine of an
// engine that has ended.

using namespace corewise;
using namespace std::chrono_literals;

namespace {

task<> waits_for(std::shared_ptr<int> /*held*/, event& happens, std::atomic<int>& begun) {
  begun.fetch_add(1);
  co_await happens.wait();
}

} // namespace

TEST_CASE("sole taker: a task that the worker is about to take as the engine ends either runs or is dropped, "
          "once") {
  constexpr int tasks = 20;
  constexpr int waiting = 200;
  constexpr int steps = 48; // these steps reach into the second task
  int cut_short = 0;
  for (int held_at = 0; held_at < steps; ++held_at) {
    CAPTURE(held_at);
    auto token = std::make_shared<int>(1);
    std::vector<event> events(waiting);
    std::atomic<int> begun{0};
    std::atomic<int> runs{0};
    std::atomic<bool> held{false};
    std::atomic<bool> ends{false};
    engine e(small_profile(1));
    for (event& happens : events)
      REQUIRE(e.submit(waits_for(token, happens, begun)) == submit_result::accepted);
    while (begun != waiting) std::this_thread::yield();
    REQUIRE(e.submit([&] {
      for (int i = 0; i < tasks; ++i)
        CHECK(e.submit([&runs, token] { runs.fetch_add(1); }) == submit_result::accepted);
      tests::at_each_step([&held, &ends, step = 0, held_at]() mutable {
        if (step++ != held_at) return;
        held = true;
        while (!ends) std::this_thread::yield();
        std::this_thread::sleep_for(40ms);
      });
    }) == submit_result::accepted);
    while (!held) std::this_thread::yield();
    std::thread wakes([&] {
      for (event& happens : events) {
        happens.set();
        std::this_thread::sleep_for(100us);
      }
    });
    ends = true;
    e.shutdown(0ms);
    wakes.join();
    cut_short += runs < tasks;
    // A worker that has no CPU for long drops the remaining tasks itself, when it comes.
    const auto left = [&] { return token.use_count() > 1 || e.metrics().in_flight() != 0; };
    for (int i = 0; i < 1000 && left(); ++i) std::this_thread::sleep_for(10ms);
    CHECK(token.use_count() == 1);
    CHECK(e.metrics().in_flight() == 0);
  }
  CHECK(cut_short > 0);
}
