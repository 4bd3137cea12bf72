// Tests that workers of other domains come for few tasks where these take long.

#include "runtime/runtime.hpp"
#include "small_engine.hpp"
#include "within.hpp"

#include <corewise/engine/when_all.hpp>
#include <corewise/engine/yield.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

using namespace corewise;
using namespace std::chrono_literals;

namespace {

void run_tasks(engine& e, int count, std::chrono::microseconds each, const hint& where) {
  for (int i = 0; i < count; ++i)
    REQUIRE(e.submit([=] { std::this_thread::sleep_for(each); }, where) == submit_result::accepted);
  e.drain();
}

} // namespace

TEST_CASE("from afar: one task that waits behind long ones is taken by another package") {
  for (const task_class c : {task_class::normal, task_class::latency, task_class::background}) {
    gate held;
    worker_id holder;
    worker_id taker;
    std::atomic<bool> ran{false};
    engine e(two_package_profile(1));                   // a worker would come for four short tasks
    for (const group_id g : {group_id{0}, group_id{1}}) // either may get the task that holds its worker
      while (inside_of(e).board(g).mean_task_time_ns() < 1'000'000) run_tasks(e, 1, 10ms, {.group = g});
    const auto hold = [&] {
      holder = *e.this_worker();
      held.pass();
    };
    REQUIRE(e.submit(hold) == submit_result::accepted);
    held.wait_for(1);
    const auto note = [&] {
      taker = *e.this_worker();
      ran = true;
    };
    REQUIRE(e.submit(note, {.group = e.workers()[holder].group, .run_as = c}) == submit_result::accepted);
    const bool came = within(20s, [&] { return ran.load(); });
    held.open();
    e.drain();
    CHECK(came);
    CHECK(taker != holder);
  }
}

TEST_CASE("from afar: tasks that were pushed before these were known to be long are taken as well") {
  gate held;
  std::atomic<bool> ran{false};
  profile p = two_package_profile(1);
  p.queues.lifo_cap = 0;                                        // the newest task would go first,
  p.idle.park_timeout.kind = park_timeout_setting::mode::never; // and what waits be found as lost
  engine e(p);
  const auto submits = [&] { // all for its own worker, before it ends and is known to be long
    const hint self{.worker = e.this_worker()};
    CHECK(e.submit([&] { held.pass(); }, self) == submit_result::accepted);
    for (int i = 0; i < 2; ++i) CHECK(e.submit([&] { ran = true; }, self) == submit_result::accepted);
    std::this_thread::sleep_for(50ms);
  };
  REQUIRE(e.submit(submits) == submit_result::accepted);
  held.wait_for(1);
  const bool came = within(10s, [&] { return ran.load(); });
  held.open();
  e.drain();
  CHECK(came);
}

TEST_CASE("from afar: a long task is left to an idle worker of its own package") {
  profile p = two_package_profile(2);
  p.idle.spin = 100ms; // a worker of the other package looks around all the time
  engine e(p);
  run_tasks(e, 10, 1ms, {.group = first_group});
  const auto fetched = [&] {
    return e.metrics().total().stolen[static_cast<std::size_t>(level::cross_package)];
  };
  // It may come between a worker's waking and its first look, on a busy machine more often.
  std::uint64_t least = 200;
  for (int attempt = 0; attempt < 5 && least > 10; ++attempt) {
    const std::uint64_t before = fetched();
    for (int i = 0; i < 200; ++i) run_tasks(e, 1, 500us, {.group = first_group});
    least = std::min(least, fetched() - before);
  }
  CHECK(least <= 10);
}

TEST_CASE("from afar: seven coroutines of long turns have eight workers in two packages to themselves") {
  std::atomic<int> others{0};
  engine e(two_package_profile(4));
  const auto turns = [&]() -> task<> {
    for (int i = 0; i < 20; ++i) {
      std::this_thread::sleep_for(5ms);
      if (e.this_worker()->value >= 4) ++others;
      co_await yield();
    }
  };
  const auto all = [&]() -> task<> {
    std::vector<task<>> children;
    for (int i = 0; i < 7; ++i) children.push_back(turns());
    co_await when_all(std::move(children));
  };
  e.run(all()).get();
  CHECK(others >= 20); // three of seven coroutines, less their first turns: 50 or so; almost none otherwise
}
