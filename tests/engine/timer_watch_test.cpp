#include "timer_watch.hpp"

#include <doctest/doctest.h>

#include <array>

// How the sentinel plans its sleep. Nobody else is there, so what it is told and what it does is known; the clock is real,
// and the tests hold however late they run.

using namespace corewise;
using namespace corewise::detail;

namespace {

constexpr std::int64_t millisecond = 1'000'000;

std::int64_t now_ns() { return monotonic::now().time_since_epoch().count(); }

/// Two groups and their watch.
struct watched {
  std::array<timer_group, 2> groups;
  std::array<timer_group*, 2> all{&groups[0], &groups[1]};
  timer_watch watch{all};
  int calls = 0;

  void set(std::size_t g, timer_node& t, std::int64_t deadline_ns) {
    t.deadline_ns = deadline_ns;
    static_cast<void>(groups[g].set(t, now_ns()));
  }
  /// How long to sleep, where `others` says whether somebody else looks after a group in which a timer is due.
  std::optional<std::chrono::nanoseconds> plan(bool others) {
    return watch.plan([&](group_id) { return ++calls, others; });
  }
};

} // namespace

TEST_CASE("timer watch: the sentinel sleeps until the earliest timer, or as long as it likes") {
  timer_node late;
  timer_node early;
  watched w;
  CHECK(w.plan(true) == std::chrono::nanoseconds::max());
  CHECK_FALSE(w.watch.pending());
  const std::int64_t begin = now_ns();
  w.set(0, late, begin + 7'200'000 * millisecond);
  w.set(1, early, begin + 3'600'000 * millisecond);
  const auto sleep = w.plan(true);
  REQUIRE(sleep);
  CHECK(sleep->count() > 0);
  CHECK(sleep->count() <= 3'600'001 * millisecond); // a deadline is rounded up by less than a tenth of one
  CHECK(w.watch.sleeps_past(begin));
  CHECK_FALSE(w.watch.sleeps_past(begin + 3'600'001 * millisecond));
  CHECK(w.calls == 0);
}

TEST_CASE("timer watch: what is due and nobody else's is the sentinel's at once") {
  timer_node due;
  watched w;
  w.set(1, due, 1);
  CHECK_FALSE(w.plan(false));
  CHECK(w.calls == 1);
  CHECK_FALSE(w.watch.sleeps_past(1)); // it is awake, and looks before it sleeps
}

TEST_CASE("timer watch: who was told of a timer has a millisecond, and then the sentinel does it") {
  timer_node due;
  watched w;
  w.set(1, due, 1);
  const std::int64_t begin = now_ns();
  std::optional<std::chrono::nanoseconds> sleep = w.plan(true);
  REQUIRE(sleep);
  for (; sleep; sleep = w.plan(true)) {
    REQUIRE(sleep->count() <= millisecond);
    REQUIRE(w.calls == 1); // it asks nobody again
  }
  CHECK(now_ns() - begin >= millisecond);
  CHECK(w.calls == 1);
}

TEST_CASE("timer watch: what was done in time ends the grace, and the next timer has one of its own") {
  timer_node due;
  timer_node next;
  watched w;
  w.set(1, due, 1);
  REQUIRE(w.plan(true));
  std::array<timer_node*, 1> taken{};
  REQUIRE(w.groups[1].take_due(now_ns(), taken) == 1);
  CHECK(w.plan(true) == std::chrono::nanoseconds::max());
  w.set(1, next, 1);
  CHECK(w.plan(true));
  CHECK(w.calls == 2);
}
