#include "faults.hpp"
#include "small_engine.hpp"

#include <corewise/topology/binding.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <thread>

using namespace corewise;

TEST_CASE("spare threads: one that is called to a seat wakes up on the seat's core, and is unpinned there") {
  profile p;
  p.workers.total = 1;
  p.workers.pin = pin_to::group;
  std::atomic<bool> was_on_core{false};
  std::atomic<bool> let_go{true};
  cpu_set core;
  cpu_set group;
  engine e(p); // its threads use the objects above until they end
  const worker_place& place = e.workers().workers().front();
  core = e.machine().cores()[place.core].cpus;
  group = e.groups()[place.group].cpus;
  if (core == group) {
    MESSAGE("skipped: the group has one core");
    return;
  }
  // Each thread of the seat checks at each of its steps which CPUs it is tied to.
  const auto task = [&] {
    if (this_thread_affinity() != group) let_go = false;
    tests::at_each_step([&] {
      if (this_thread_affinity() == core) was_on_core = true;
    });
    blocking([] { std::this_thread::sleep_for(std::chrono::milliseconds{5}); });
  };
  // The first call makes a thread, and later ones find one. Under load a call may be over before a thread has
  // come.
  for (int round = 0; round < 500 && !was_on_core; ++round) {
    REQUIRE(e.submit(task) == submit_result::accepted);
    e.drain();
  }
  CHECK(was_on_core);
  CHECK(let_go);
}
