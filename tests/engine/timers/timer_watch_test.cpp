#include "timers/timer_watch.hpp"

#include <doctest/doctest.h>

#include <array>

// How the sentinel plans its sleep. There is no other thread, so the test knows what the sentinel is told and
// what it does. The clock is real, and the tests hold however late they run.

using namespace corewise;
using namespace corewise::detail;

namespace {

constexpr std::int64_t millisecond = 1'000'000;

std::int64_t now_ns() { return monotonic::now().time_since_epoch().count(); }

constexpr group_id sentinels{0};
constexpr std::size_t other = 1;

/// The sentinel's group and another one, and their watch.
struct watched {
  std::array<timer_group, 2> groups;
  std::array<timer_group*, 2> all{&groups[0], &groups[1]};
  timer_watch watch{all};
  bool sleeps = false; ///< the other group has a worker that sleeps and can be woken
  bool works = false;  ///< the other group has active workers
  int wakes = 0;

  void set(std::size_t g, timer_node& t, std::int64_t deadline_ns) {
    t.deadline_ns = deadline_ns;
    static_cast<void>(groups[g].set(t, now_ns()));
  }
  std::optional<std::chrono::nanoseconds> plan() {
    const auto wake = [&](group_id g) {
      CHECK(g.value == other);
      return ++wakes, sleeps;
    };
    return watch.plan(sentinels, wake, [&](group_id) { return works; });
  }
};

} // namespace

TEST_CASE("timer watch: the sentinel sleeps until the earliest timer, or without a limit if there is none") {
  timer_node late;
  timer_node early;
  watched w;
  CHECK(w.plan() == std::chrono::nanoseconds::max());
  CHECK_FALSE(w.watch.pending());
  const std::int64_t begin = now_ns();
  w.set(0, late, begin + 7'200'000 * millisecond);
  w.set(1, early, begin + 3'600'000 * millisecond);
  const auto sleep = w.plan();
  REQUIRE(sleep);
  CHECK(sleep->count() > 0);
  CHECK(sleep->count() <= 3'600'001 * millisecond); // a deadline is rounded up by less than a tenth of one
  CHECK(w.watch.sleeps_past(begin));
  CHECK_FALSE(w.watch.sleeps_past(begin + 3'600'001 * millisecond));
  CHECK(w.wakes == 0);
}

TEST_CASE("timer watch: the sentinel at once fires due timers of its own group, and of groups without "
          "working workers") {
  timer_node due;
  watched w;
  int wakes = 0;
  SUBCASE("its own group") {
    w.sleeps = w.works = true;
    w.set(sentinels.value, due, 1);
  }
  SUBCASE("a group in which no worker works") {
    w.set(other, due, 1);
    wakes = 1; // the sentinel has tried to wake a worker
  }
  CHECK_FALSE(w.plan());
  CHECK(w.wakes == wakes);
  CHECK_FALSE(w.watch.sleeps_past(1)); // the sentinel is awake, and looks before it sleeps
}

TEST_CASE(
    "timer watch: another group has a millisecond to fire its due timers, and then the sentinel does it") {
  timer_node due;
  watched w;
  w.works = true;
  SUBCASE("one worker was woken") { w.sleeps = true; }
  SUBCASE("all workers are awake") {}
  w.set(other, due, 1);
  const std::int64_t begin = now_ns();
  std::optional<std::chrono::nanoseconds> sleep = w.plan();
  REQUIRE(sleep);
  for (; sleep; sleep = w.plan()) {
    REQUIRE(sleep->count() <= millisecond);
    REQUIRE(w.wakes == 1); // the sentinel wakes no second worker
  }
  CHECK(now_ns() - begin >= millisecond);
  CHECK(w.wakes == 1);
}

TEST_CASE(
    "timer watch: a timer that is fired in time ends the grace period, and the next timer has its own") {
  timer_node due;
  timer_node next;
  watched w;
  w.sleeps = w.works = true;
  w.set(other, due, 1);
  REQUIRE(w.plan());
  std::array<timer_node*, 1> taken{};
  REQUIRE(w.groups[other].take_due(now_ns(), taken) == 1);
  CHECK(w.plan() == std::chrono::nanoseconds::max());
  w.set(other, next, 1);
  CHECK(w.plan());
  CHECK(w.wakes == 2);
}
