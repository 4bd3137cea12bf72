#include "small_engine.hpp"

#include <corewise/engine/engine.hpp>
#include <corewise/engine/yield.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <thread>

using namespace corewise;

namespace {

const auto past = std::chrono::steady_clock::now() - std::chrono::hours{1};
const auto far_off = std::chrono::steady_clock::now() + std::chrono::hours{24};

task<> mark(std::atomic<int>& runs) {
  co_await yield();
  runs.fetch_add(1);
}

} // namespace

TEST_CASE("deadline: a task that has not begun by its deadline is dropped and counted, and its callback is "
          "called") {
  for (const task_class c : {task_class::normal, task_class::latency, task_class::background}) {
    engine e(small_profile(2));
    std::atomic<int> runs{0};
    std::atomic<int> told{0};
    const auto run = [&] { runs.fetch_add(1); };
    const auto tell = [&] { told.fetch_add(e.this_worker() ? 1 : 1000); };
    for (int i = 0; i < 10; ++i) {
      CHECK(e.submit(run, hint{.run_as = c, .deadline = past}) == submit_result::accepted);
      CHECK(e.submit(run, hint{.run_as = c, .deadline = past}, tell) == submit_result::accepted);
      CHECK(e.submit(mark(runs), hint{.run_as = c, .deadline = past}) == submit_result::accepted);
      CHECK(e.submit(mark(runs), hint{.run_as = c, .deadline = past}, tell) == submit_result::accepted);
    }
    e.drain();
    CHECK(runs == 0);
    CHECK(told == 20);
    const metrics_snapshot m = e.metrics();
    CHECK(m.total().expired == 40);
    CHECK(m.finished == 40);
    CHECK(m.failed == 0);
    CHECK(m.to_text().find("expired") != std::string::npos);
    CHECK(m.to_json().find("\"tasks_expired\":") != std::string::npos);
  }
}

TEST_CASE("deadline: a task that begins in time runs in its class, and its callback is not called") {
  for (const task_class c : {task_class::normal, task_class::latency, task_class::background}) {
    engine e(small_profile(2));
    std::atomic<int> runs{0};
    std::atomic<int> told{0};
    const hint wish{.run_as = c, .deadline = far_off};
    for (int i = 0; i < 10; ++i) {
      CHECK(e.submit([&] { runs.fetch_add(1); }, wish, [&] { told.fetch_add(1); }) ==
            submit_result::accepted);
      CHECK(e.submit(mark(runs), wish, [&] { told.fetch_add(1); }) == submit_result::accepted);
      CHECK(e.try_submit([&] { runs.fetch_add(1); }, wish) == submit_result::accepted);
    }
    e.drain();
    CHECK(runs == 30);
    CHECK(told == 0);
    CHECK(e.metrics().total().expired == 0);
    CHECK(e.metrics().latency_placed == (c == task_class::latency ? 40 : 0));
    CHECK(e.metrics().background_placed == (c == task_class::background ? 40 : 0));
  }
}

TEST_CASE("deadline: a task that has begun goes on after its deadline") {
  engine e(small_profile(1));
  bool begun = false; // under load it may not have begun in time
  bool ended = false;
  const auto soon = std::chrono::steady_clock::now() + std::chrono::milliseconds{20};
  future<void> work = e.run(
      [&]() -> task<> {
        begun = true;
        while (std::chrono::steady_clock::now() <= soon) co_await yield();
        ended = true;
      },
      hint{.deadline = soon});
  try {
    work.get();
  } catch (const deadline_expired&) {
    CHECK_FALSE(begun);
  }
  CHECK(ended == begun);
}

TEST_CASE("deadline: it also holds for a task that waits behind others") {
  engine e(small_profile(1));
  gate held;
  CHECK(e.submit([&] { held.pass(); }) == submit_result::accepted);
  held.wait_for(1);
  std::atomic<int> runs{0};
  const auto soon = std::chrono::steady_clock::now() + std::chrono::milliseconds{1};
  CHECK(e.submit([&] { runs.fetch_add(1); }, hint{.deadline = soon}) == submit_result::accepted);
  CHECK(e.submit([&] { runs.fetch_add(1); }) == submit_result::accepted);
  while (std::chrono::steady_clock::now() < soon) std::this_thread::yield();
  held.open();
  e.drain();
  CHECK(runs == 1);
  CHECK(e.metrics().total().expired == 1);
}

TEST_CASE("deadline: a future throws an error that says whether its task expired or was not run") {
  const auto three = []() -> task<int> { co_return 3; };
  engine e(small_profile(1));
  CHECK_THROWS_AS(e.run([] { return 3; }, hint{.deadline = past}).get(), deadline_expired);
  CHECK_THROWS_AS(e.run(three(), hint{.deadline = past}).get(), deadline_expired);
  CHECK_THROWS_AS(e.run([] {}, hint{.deadline = past}).get(), deadline_expired);
  CHECK(e.run([] { return 3; }, hint{.deadline = far_off}).get() == 3);
  CHECK(e.run(three(), hint{.deadline = far_off}).get() == 3);
  CHECK(e.shutdown(std::chrono::seconds{10}).clean());
  CHECK_THROWS_AS(e.run([] { return 3; }, hint{.deadline = past}).get(), not_run);
}

TEST_CASE("deadline: the closure of an expired task is destroyed before its callback is called") {
  engine e(small_profile(1));
  auto owned = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = owned;
  bool gone = false;
  CHECK(e.submit([given = std::move(owned)] {}, hint{.deadline = past}, [&] { gone = watched.expired(); }) ==
        submit_result::accepted);
  e.drain();
  CHECK(gone);
  owned = std::make_shared<int>(2);
  const std::weak_ptr<int> of_callback = owned;
  CHECK(e.submit([] {}, hint{.deadline = far_off}, [owned] {}) == submit_result::accepted);
  owned.reset();
  e.drain();
  CHECK(of_callback.expired());
}

TEST_CASE("deadline: work that ends because an expired task is destroyed has not expired itself") {
  engine e(small_profile(1));
  const auto held = std::make_shared<gate>(); // its task may outlive the engine
  const auto end_at_once = [](engine* x) {
    static_cast<void>(x->shutdown(std::chrono::nanoseconds{0}));
    delete x;
  };
  std::unique_ptr<engine, decltype(end_at_once)> other(new engine(small_profile(1)), end_at_once);
  REQUIRE(other->submit([held] { held->pass(); }) == submit_result::accepted);
  held->wait_for(1);
  future<int> dropped_with_it = other->run([] { return 3; });
  future<void> expires = e.run([owned = std::move(other)] {}, hint{.deadline = past});
  CHECK_THROWS_AS(expires.get(), deadline_expired);
  CHECK_THROWS_AS(dropped_with_it.get(), not_run);
  held->open();
}

TEST_CASE("deadline: an exception of the callback is the task's") {
  profile p = small_profile(1);
  p.on_exception = exception_action::report;
  engine e(p);
  CHECK(e.submit([] {}, hint{.deadline = past}, [] { throw std::runtime_error("told"); }) ==
        submit_result::accepted);
  e.drain();
  CHECK(e.metrics().failed == 1);
  CHECK(e.metrics().in_flight() == 0);
}

TEST_CASE(
    "deadline: another task gets the room of an expired task, and a shutdown drops both task and callback") {
  profile p = small_profile(1);
  p.limits.in_flight = 2;
  engine e(p);
  for (int i = 0; i < 10; ++i) {
    CHECK(e.submit([] {}, hint{.deadline = past}, [] {}) == submit_result::accepted);
    e.drain();
  }
  CHECK(e.metrics().rejected == 0);
  const auto held = std::make_shared<gate>(); // its task may outlive the engine
  CHECK(e.submit([held] { held->pass(); }) == submit_result::accepted);
  held->wait_for(1);
  const auto owned = std::make_shared<int>(1);
  CHECK(e.submit([owned] {}, hint{.deadline = past}, [owned] { FAIL("told"); }) == submit_result::accepted);
  const shutdown_report report = e.shutdown(std::chrono::nanoseconds{0});
  CHECK(report.dropped == 1);
  CHECK(owned.use_count() == 1);
  held->open();
}
