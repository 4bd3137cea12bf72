#include "small_engine.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

using namespace corewise;
using namespace std::chrono_literals;

namespace {

constexpr int tasks_sent = 10;

/// Holds one of two workers in a task that does not end. Sends tasks to both in turn, 1 ms apart. Notes which
/// tasks the other worker runs, in which order.
struct run_by_one {
  explicit run_by_one(optional_duration oldest_first, const char* stealing = "nearest_half") {
    profile p = small_profile(2);
    p.dispatch.policy = "round_robin";
    p.steal.policy = stealing;
    p.queues.oldest_first = oldest_first;
    gate held;
    gate held_longer;
    std::atomic<int> ran{0};
    engine e(p);
    REQUIRE(e.submit([&] { held_longer.pass(); }) == submit_result::accepted);
    REQUIRE(e.submit([&] { held.pass(); }) == submit_result::accepted);
    held_longer.wait_for(1);
    held.wait_for(1);
    const std::uint64_t before = taken_by_others(e); // an awake worker may have stolen one of the two
    for (int i = 0; i < tasks_sent; ++i) {
      std::this_thread::sleep_for(1ms);
      REQUIRE(e.submit([&, i] {
        order.push_back(i);
        ++ran;
      }) == submit_result::accepted);
    }
    held.open();
    const int reachable = p.steal.policy == "none" ? tasks_sent / 2 : tasks_sent;
    while (ran < reachable) std::this_thread::sleep_for(100us);
    alone = order;
    held_longer.open();
    e.drain();
    stolen = taken_by_others(e) - before;
  }
  static std::uint64_t taken_by_others(engine& e) { return e.metrics().total().stolen[0]; }

  bool in_order() const { return std::ranges::is_sorted(alone); }

  std::vector<int> order; // only tasks write it
  std::vector<int> alone; // `order` when the other worker went on
  std::uint64_t stolen = 0;
};

} // namespace

TEST_CASE("oldest first: a worker with long tasks takes the oldest task from all inboxes of its group") {
  // No worker has run a task yet: the engine assumes that a task takes 50 us.
  const run_by_one long_ones(50us);
  CHECK(long_ones.in_order());
  CHECK(long_ones.stolen == tasks_sent / 2);
}

TEST_CASE("oldest first: with shorter tasks or other profiles a worker takes its own tasks first, and then "
          "half of another's") {
  for (const optional_duration from : {optional_duration{51us}, optional_duration{}}) {
    const run_by_one own(from);
    CHECK_FALSE(own.in_order());
    CHECK(std::is_sorted(own.alone.begin(), own.alone.begin() + tasks_sent / 2));
    CHECK(own.alone[1] - own.alone[0] == 2);
  }
}

TEST_CASE("oldest first: without stealing each worker takes only its own tasks") {
  const run_by_one own(50us, "none");
  CHECK(own.in_order());
  CHECK(own.alone.size() == tasks_sent / 2);
  CHECK(own.order.size() == tasks_sent);
  CHECK(own.stolen == 0);
}
