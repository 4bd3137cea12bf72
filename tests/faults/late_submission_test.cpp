#include "faults.hpp"
#include "runtime/runtime.hpp"
#include "small_engine.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <thread>

// The engine lets a submitter in, and the submitter sleeps before it has put its task down. Meanwhile the
// engine's time to end runs out, or its rules are replaced.

using namespace corewise;
using namespace std::chrono_literals;

TEST_CASE("late submission: a shutdown without patience drops and counts what was let in and not put down") {
  profile p = small_profile(1);
  p.limits.in_flight = 0; // so that counting has no steps
  engine e(p);
  gate held; // so that the worker does not run the late task
  REQUIRE(e.submit([&] { held.pass(); }) == submit_result::accepted);
  held.wait_for(1);
  auto token = std::make_shared<int>(1);
  std::atomic<bool> let_in{false};
  std::atomic<bool> ended{false};
  submit_result answer = submit_result::full;
  std::thread late([&] {
    tests::at_each_step([&, step = 0]() mutable {
      if (++step != 2) return; // at the first step it takes the rules, at the second it is let in
      let_in = true;
      // This is long enough for an engine that does not wait for this thread.
      for (int i = 0; i < 500 && !ended; ++i) std::this_thread::sleep_for(1ms);
    });
    answer = e.submit([kept = token] {});
    tests::at_each_step({});
  });
  while (!let_in) std::this_thread::yield();
  const shutdown_report report = e.shutdown(0ns);
  ended = true;
  late.join();
  CHECK(answer == submit_result::accepted);
  CHECK(report.dropped == 1);
  CHECK(report.running.size() == 1);
  CHECK(token.use_count() == 1);
  held.open();
  e.drain(); // there is no task left that it would wait for
  CHECK(e.metrics().in_flight() == 0);
}

TEST_CASE("late submission: who held rules that were replaced before it went by them leaves none behind") {
  const profile p = small_profile(1);
  engine e(p);
  const auto& rules = inside_of(e).newest_rules(); // the metric would look for old rules itself
  const auto asleep = [&] {
    const worker_metrics m = e.metrics().total();
    return m.parks > m.wakes;
  };
  while (!asleep()) std::this_thread::yield(); // else this sleep is taken for the next one
  tests::at_each_step([&, step = 0]() mutable {
    if (++step != 2) return;
    const std::uint64_t parks = e.metrics().total().parks;
    CHECK(e.apply(p).applied());
    while (e.metrics().total().parks == parks) std::this_thread::yield(); // the worker has taken the new ones
    CHECK(rules.old() == 1);
  });
  REQUIRE(e.submit([] {}) == submit_result::accepted);
  tests::at_each_step({});
  e.drain();
  CHECK(rules.old() == 0);
  CHECK(e.metrics().outdated == 0);
}
