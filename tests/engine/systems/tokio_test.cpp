#include "system_engine.hpp"

#include <doctest/doctest.h>

using namespace corewise;
using namespace corewise::tests;

TEST_CASE("tokio: at most 3 tasks run from the slot one after another") {
  profile p = system_profile("tokio", 1);
  const auto beyond = [&] { // of 4 tasks of a chain the fourth comes from the ring
    engine e(p);
    chain(e, 20'000);
    e.drain();
    const worker_metrics w = e.metrics().total();
    CHECK(w.lifo_runs > 0);
    return w.lifo_runs * 4 > w.executed * 3 + 4;
  };
  CHECK_FALSE(beyond());
  p.queues.discipline = discipline::standard;
  CHECK(beyond());
}

TEST_CASE("tokio: a worker looks at the global queue once in 61 tasks") {
  const profile p = system_profile("tokio", 1);
  CHECK(p.injection.interval.min == 61);
  CHECK(p.injection.interval.max == 61);
  engine e(p);
  std::vector<int> order; // only one worker writes it
  gate held;
  const auto first = [&] {
    for (int i = 0; i < 200; ++i)
      if (e.submit([&] { order.push_back(0); }) != submit_result::accepted) std::abort();
    held.pass();
  };
  REQUIRE(e.submit(first) == submit_result::accepted);
  held.wait_for(1);
  REQUIRE(e.submit([&] { order.push_back(1); }) == submit_result::accepted);
  held.open();
  e.drain();
  CHECK(std::ranges::find(order, 1) - order.begin() == 60); // `first` itself was the first of 61
}

TEST_CASE("tokio: a task stays with its worker, and a task from outside is injected") {
  engine e(system_profile("tokio", 1));
  CHECK(load_with(e, 20, 5) == 120);
  CHECK(e.metrics().total().injected == 20);
  CHECK(e.metrics().total().placed == 100);
}
