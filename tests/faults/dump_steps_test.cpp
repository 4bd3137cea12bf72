#include "faults.hpp"
#include "small_engine.hpp"

#include <corewise/engine/dump.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

// A worker looks at itself in a dump, between the steps of going to sleep.

using namespace corewise;
using namespace std::chrono_literals;

TEST_CASE("dump: a worker whose parked bit is set is not shown as parked before its last look is over") {
  std::atomic<int> too_early{0};
  std::atomic<int> asleep{0};
  engine e(small_profile(1));
  const auto parks = [&] { return e.metrics().workers[0].parks; }; // counted after the last look
  REQUIRE(e.submit([&] {
    tests::at_each_step([&, before = parks(), looking = false]() mutable {
      if (std::exchange(looking, true)) return; // this is a step of the look itself
      if (e.dump().seats[0].state == seat_state::parked) ++(parks() == before ? too_early : asleep);
      looking = false;
    });
  }) == submit_result::accepted);
  for (int i = 0; i < 10'000 && asleep == 0; ++i) std::this_thread::sleep_for(1ms);
  CHECK(asleep > 0);
  CHECK(too_early == 0);
  REQUIRE(e.submit([] { tests::at_each_step({}); }) == submit_result::accepted);
  e.drain();
}
