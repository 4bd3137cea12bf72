#include "faults.hpp"
#include "small_engine.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <utility>

// A worker puts tasks into the front of its ring. Before it has noted where that front ends, another steals
// them.

using namespace corewise;
using namespace std::chrono_literals;

TEST_CASE("front of the ring: the task in the slot runs, although thieves came while the front was made") {
  profile p = small_profile(2);
  p.dispatch.policy = "local_first"; // tasks from outside are injected, a task's own go to its slot
  p.queues.discipline = discipline::volt;
  p.queues.lifo_age.reset();
  p.idle.park_timeout.kind = park_timeout_setting::mode::never;
  std::atomic<int> ran{0};
  engine e(p);
  // One worker is slow in the engine, and none is slow in the tasks. So the other is done first, and comes to
  // steal.
  const auto begin = [&] {
    thread_local bool delayed = false;
    if (e.this_worker() == worker_id{0} && !std::exchange(delayed, true))
      tests::at_each_step([] { std::this_thread::sleep_for(200us); });
    const auto until = std::chrono::steady_clock::now() + 20us;
    while (std::chrono::steady_clock::now() < until) continue;
    if (e.submit([&] { ran.fetch_add(1); }) != submit_result::accepted) std::abort();
  };
  constexpr int bursts = 2000;
  constexpr int burst = 8;
  for (int round = 1; round <= bursts; ++round) {
    for (int i = 0; i < burst; ++i) REQUIRE(e.submit(begin) == submit_result::accepted);
    const auto until = std::chrono::steady_clock::now() + 10s;
    while (ran != round * burst && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(100us);
    REQUIRE(ran == round * burst);
  }
}
