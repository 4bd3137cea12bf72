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

namespace {

/// What became of one submission that was held at one of its steps while the engine ended.
struct late_submission {
  bool held = false; ///< it has so many steps
  submit_result answer = submit_result::full;
};

late_submission hold_at(int step) {
  engine e(small_profile(1));
  gate busy; // so that the worker does not run the late task
  REQUIRE(e.submit([&] { busy.pass(); }) == submit_result::accepted);
  busy.wait_for(1);
  auto token = std::make_shared<int>(1);
  std::atomic<bool> held{false};
  std::atomic<bool> returned{false};
  std::atomic<bool> ended{false};
  late_submission late;
  std::thread submits([&] {
    tests::at_each_step([&, steps = 0]() mutable {
      if (++steps != step) return;
      held = true;
      // An engine that does not wait for this thread ends after 200 ms, when it has given up on its worker.
      for (int i = 0; i < 300 && !ended; ++i) std::this_thread::sleep_for(1ms);
    });
    late.answer = e.submit([kept = token] {});
    tests::at_each_step({});
    returned = true;
  });
  while (!held && !returned) std::this_thread::yield();
  late.held = held;
  const shutdown_report report = e.shutdown(0ns);
  ended = true;
  submits.join();
  CHECK(report.running.size() == 1);
  CHECK(report.dropped == (late.answer == submit_result::accepted ? 1 : 0));
  CHECK(token.use_count() == 1);
  busy.open();
  e.drain(); // there is no task left that it would wait for
  CHECK(e.metrics().in_flight() == 0);
  return late;
}

} // namespace

TEST_CASE("late submission: a shutdown without patience drops and counts a task that was accepted and is not "
          "queued yet") {
  int accepted = 0;
  int refused = 0;
  for (int step = 1;; ++step) {
    CAPTURE(step);
    const late_submission late = hold_at(step);
    if (!late.held) break;
    ++(late.answer == submit_result::accepted ? accepted : refused);
  }
  CHECK(accepted > 1); // the engine waits for a submission that it has let in
  CHECK(refused > 1);
}

TEST_CASE(
    "late submission: a submitter whose rules were replaced before it used them leaves no task behind") {
  const profile p = small_profile(1);
  engine e(p);
  const auto& rules = inside_of(e).newest_rules(); // the metric would look for old rules itself
  // Its parked bit tells, and not its counts: a token that was left for an earlier sleep is a park without a wake.
  const auto asleep = [&] { return e.dump().seats.front().state == seat_state::parked; };
  REQUIRE(e.submit([] {}) == submit_result::accepted); // from here on the engine knows this thread
  int held = 0;
  bool came = true;
  for (int step = 1; came; ++step) {
    CAPTURE(step);
    e.drain();
    while (!asleep()) std::this_thread::yield(); // else this sleep is taken for the next one
    came = false;
    tests::at_each_step([&, steps = 0]() mutable {
      if (++steps != step) return;
      came = true;
      const std::uint64_t parks = e.metrics().total().parks;
      CHECK(e.apply(p).applied());
      // The worker takes the new rules before it parks again. It cannot while this thread is about to wake it.
      for (int i = 0; i < 20 && e.metrics().total().parks == parks; ++i) std::this_thread::sleep_for(1ms);
      if (rules.old() == 1) ++held;
    });
    REQUIRE(e.submit([] {}) == submit_result::accepted);
    tests::at_each_step({});
    e.drain();
    while (!asleep()) std::this_thread::yield(); // a worker takes new rules at the latest before it sleeps
    CHECK(e.metrics().outdated == 0);
    CHECK(rules.old() == 0);
  }
  CHECK(held > 0);
}
