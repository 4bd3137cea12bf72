#include "system_engine.hpp"

#include <corewise/engine/yield.hpp>

#include <doctest/doctest.h>

using namespace corewise;
using namespace corewise::tests;

TEST_CASE("global-queue: every task that runs comes from the one queue, one at a time") {
  engine e(system_profile("global-queue", 3));
  CHECK(load_with(e, 1000, 10) == 11'000);
  const worker_metrics all = e.metrics().total();
  CHECK(all.injected == 11'000);
  CHECK(all.executed == 11'000);
  CHECK(all.placed == 0);
  CHECK(stolen_of(all) == 0);
  CHECK(all.lifo_runs == 0);
}

TEST_CASE("global-queue: a task that yields also goes to the queue") {
  engine e(system_profile("global-queue", 2));
  const auto yields = []() -> task<> {
    for (int i = 0; i < 9; ++i) co_await yield();
  };
  for (int i = 0; i < 100; ++i) REQUIRE(e.submit(yields()) == submit_result::accepted);
  e.drain();
  CHECK(e.metrics().total().injected == 1000);
}

TEST_CASE("global-queue: a sleeper is woken for a task that busy workers cannot run") {
  engine e(system_profile("global-queue", 4));
  for (int round = 0; round < 200; ++round) {
    gate all;
    for (int i = 0; i < 4; ++i) REQUIRE(e.submit([&] { all.pass(); }) == submit_result::accepted);
    all.wait_for(4); // hangs if a task is left in the queue while a worker sleeps
    all.open();
    e.drain();
  }
}
