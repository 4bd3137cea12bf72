#include "worker/turn_plan.hpp"

#include <doctest/doctest.h>

using namespace corewise;
using namespace corewise::detail;

namespace {

/// Returns how many polls pass up to the one in which the shared sources come first, which is the last of
/// them.
std::uint32_t polls_until_shared(turn_plan& plan) {
  std::uint32_t polls = 1;
  while (!plan.count_poll()) ++polls;
  return polls;
}

turn_plan plan_of(std::uint32_t interval) {
  turn_plan plan(interval);
  plan.begin_interval();
  return plan;
}

} // namespace

TEST_CASE("turn plan: the shared sources come first once in an interval, for any way in which tasks begin") {
  turn_plan plan = plan_of(10);
  CHECK(polls_until_shared(plan) == 10);
  CHECK(polls_until_shared(plan) == 10);
  for (int i = 0; i < 4; ++i) plan.count_turn();
  for (int i = 0; i < 3; ++i) plan.count_latency();
  CHECK(polls_until_shared(plan) == 3);
}

TEST_CASE("turn plan: a task that runs before the shared sources leaves them due") {
  turn_plan plan = plan_of(3);
  for (int i = 0; i < 10; ++i) plan.count_before_due();
  CHECK(polls_until_shared(plan) == 1);
}

TEST_CASE("turn plan: a shorter interval holds at once") {
  turn_plan plan = plan_of(100);
  plan.set_interval(5);
  CHECK(polls_until_shared(plan) == 5);
  plan.set_interval(50);
  CHECK(polls_until_shared(plan) == 5);
  CHECK(polls_until_shared(plan) == 50);
}

TEST_CASE("turn plan: a backlog is polled after one turn of the ring") {
  turn_plan plan = plan_of(100);
  plan.note_backlog(7);
  CHECK(polls_until_shared(plan) == 8);
  CHECK(polls_until_shared(plan) == 100);
}

TEST_CASE("turn plan: of ten tasks at most nine are latency tasks") {
  turn_plan plan = plan_of(100);
  for (int row = 0; row < 3; ++row) {
    for (int i = 0; i < 9; ++i) {
      REQUIRE(plan.pick_latency());
      plan.count_latency();
    }
    CHECK_FALSE(plan.pick_latency());
  }
}

TEST_CASE("turn plan: a background task comes once in an interval, and the other shared sources next") {
  turn_plan plan = plan_of(10);
  CHECK_FALSE(plan.pick_background(9));
  CHECK(plan.pick_background(10));
  plan.count_background(10);
  CHECK(polls_until_shared(plan) == 1);
  CHECK_FALSE(plan.pick_background(30)); // the others' turn
  CHECK_FALSE(plan.pick_background(19));
  CHECK(plan.pick_background(20));
}

TEST_CASE("turn plan: ring and shared sources, and inbox and injection queue, take turns") {
  turn_plan plan = plan_of(10);
  for (int i = 0; i < 3; ++i) {
    CHECK(plan.pick_ring());
    CHECK_FALSE(plan.pick_ring());
    CHECK(plan.pick_injection());
    CHECK_FALSE(plan.pick_injection());
  }
}
