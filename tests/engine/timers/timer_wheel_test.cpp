#include "timers/timer_group.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <deque>
#include <random>
#include <thread>
#include <vector>

using namespace corewise::detail;

namespace {

constexpr std::int64_t tick = std::int64_t{1} << timer_wheel::tick_bits;
constexpr std::size_t all = ~std::size_t{0};

/// Returns the timers that are due at the beginning of tick `now`, in the order in which they come out.
std::vector<timer_node*> due_at(timer_wheel& wheel, timer_wheel::tick now) {
  while (!wheel.advance(now, all)) {
  }
  std::vector<timer_node*> out;
  while (timer_node* t = wheel.pop_due()) out.push_back(t);
  return out;
}

} // namespace

TEST_CASE("timer wheel: a deadline is rounded up and the present down") {
  CHECK(timer_wheel::after(1) == 1);
  CHECK(timer_wheel::after(tick) == 1);
  CHECK(timer_wheel::after(tick + 1) == 2);
  CHECK(timer_wheel::at(tick - 1) == 0);
  CHECK(timer_wheel::at(2 * tick - 1) == 1);
  CHECK(timer_wheel::after(-5) == 0);
}

TEST_CASE("timer wheel: a timer at any distance fires at its tick, not before") {
  for (const timer_wheel::tick start : {0ULL, 1ULL, 63ULL, 64ULL, 12345678ULL, (1ULL << 42) - 1}) {
    for (unsigned bit = 0; bit < 46; ++bit) {
      timer_wheel wheel;
      REQUIRE(wheel.advance(start, all));
      timer_node t;
      const timer_wheel::tick when = start + (timer_wheel::tick{1} << bit);
      t.deadline_ns = static_cast<std::int64_t>(when << timer_wheel::tick_bits);
      wheel.insert(t, start);
      CHECK(due_at(wheel, when - 1).empty());
      CHECK(wheel.next() <= when);
      CHECK(wheel.next() > start);
      CHECK(due_at(wheel, when) == std::vector{&t});
      CHECK(wheel.next() == timer_wheel::never);
    }
  }
}

TEST_CASE("timer wheel: the end of time has a bucket") {
  timer_wheel wheel;
  timer_node t;
  t.deadline_ns = std::numeric_limits<std::int64_t>::max();
  wheel.insert(t, timer_wheel::at(std::int64_t{1} << 60));
  CHECK(due_at(wheel, timer_wheel::after(t.deadline_ns) - 1).empty());
  CHECK(due_at(wheel, timer_wheel::after(t.deadline_ns)).size() == 1);
}

TEST_CASE("timer wheel: a timer that is past when it is set is due at once") {
  timer_wheel wheel;
  REQUIRE(wheel.advance(1000, all));
  timer_node t;
  t.deadline_ns = 5 * tick;
  wheel.insert(t, 1000);
  CHECK(wheel.next() == 0);
  CHECK(due_at(wheel, 1000) == std::vector{&t});
}

TEST_CASE("timer wheel: timers that move down in pieces keep their order, and none is lost") {
  timer_wheel wheel;
  std::deque<timer_node> timers(1000);
  for (std::size_t i = 0; i < timers.size(); ++i) {
    timers[i].deadline_ns =
        static_cast<std::int64_t>(4096 + (i * 7919) % 4096) * tick; // one bucket of level 2
    wheel.insert(timers[i], 0);
  }
  int pieces = 1;
  while (!wheel.advance(4096 + 2000, 10)) {
    ++pieces;
    CHECK(wheel.next() == 0);
  }
  CHECK(pieces > 50);
  const auto due = due_at(wheel, 4096 + 2000);
  std::size_t expected = 0;
  for (const timer_node& t : timers) expected += t.deadline_ns <= (4096 + 2000) * tick ? 1 : 0;
  CHECK(due.size() == expected);
  CHECK(std::ranges::is_sorted(due, {}, [](const timer_node* t) { return t->deadline_ns; }));
}

TEST_CASE("timer group: its published time is never later than its earliest timer, and exact after a look") {
  timer_group group;
  CHECK(group.next_ns() == timer_group::never);
  timer_node far;
  timer_node near;
  far.deadline_ns = 3600'000'000'000;
  near.deadline_ns = 1'000'000;
  CHECK(group.set(far, 0) == timer_group::outcome::earliest);
  CHECK(group.next_ns() <= far.deadline_ns);
  CHECK(group.set(near, 0) == timer_group::outcome::earliest);
  CHECK(group.next_ns() <= near.deadline_ns + tick);
  CHECK_FALSE(group.ripe(near.deadline_ns - 1));
  CHECK(group.ripe(near.deadline_ns + tick));
  CHECK(group.cancel(near));
  CHECK_FALSE(group.cancel(near));
  CHECK_FALSE(group.ripe(near.deadline_ns + tick));
  CHECK(group.next_ns() > near.deadline_ns + tick);
  CHECK(group.cancel(far));
  CHECK(group.next_ns() == timer_group::never);
  CHECK(group.count().cancelled == 2);
}

TEST_CASE("timer group: a timer that was stopped before is not set, and a closed group takes no timer") {
  timer_group group;
  timer_node stopped;
  CHECK_FALSE(group.cancel(stopped));
  CHECK(group.set(stopped, 0) == timer_group::outcome::stopped);
  timer_node set;
  set.deadline_ns = 1'000'000'000;
  CHECK(group.set(set, 0) == timer_group::outcome::earliest);
  CHECK(group.close() == &set);
  CHECK(group.close() == nullptr);
  timer_node late;
  CHECK(group.set(late, 0) == timer_group::outcome::closed);
  CHECK(group.count().pending == 0);
}

TEST_CASE("timer group: when a cancellation and an expiry meet, exactly one gets the timer") {
  constexpr std::size_t rounds = 500;
  constexpr std::size_t timers_each = 2000; // in all, a cancellation meets an expiry a million times
  const std::uint64_t seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  timer_group group;
  std::uint64_t both = 0;
  std::uint64_t neither = 0;
  for (std::size_t round = 0; round < rounds; ++round) {
    std::vector<timer_node> timers(timers_each);
    std::vector<unsigned char> cancelled(timers_each);
    std::vector<unsigned char> fired(timers_each);
    const auto base = static_cast<std::int64_t>(round) * 3'000'000'000;
    for (timer_node& t : timers) {
      t.deadline_ns = base + static_cast<std::int64_t>(random() % 2'000'000'000);
      REQUIRE(group.set(t, base) <= timer_group::outcome::earliest);
    }
    // The two threads take turns to begin, and the other thread follows at the first step of the one that
    // begins.
    std::atomic<bool> begun{false};
    const auto follow = [&begun] {
      while (!begun.load()) std::this_thread::yield();
    };
    std::thread other([&, first = random() % timers_each] {
      if (round % 2 == 0) follow();
      for (std::size_t i = 0; i < timers_each; ++i) {
        const std::size_t at = (first + i * 7) % timers_each;
        cancelled[at] = group.cancel(timers[at]) ? 1 : 0;
        begun.store(true, std::memory_order_relaxed);
      }
    });
    if (round % 2 == 1) follow();
    std::array<timer_node*, 16> due;
    for (std::int64_t now = base; now < base + 2'100'000'000; now += 10'000'000)
      for (std::size_t taken = due.size(); taken == due.size();) {
        taken = group.take_due(now, due);
        for (std::size_t i = 0; i < taken; ++i) fired[static_cast<std::size_t>(due[i] - timers.data())] = 1;
        if (taken != 0) begun.store(true, std::memory_order_relaxed);
      }
    other.join();
    for (std::size_t i = 0; i < timers_each; ++i) {
      both += (cancelled[i] != 0 && fired[i] != 0) ? 1 : 0;
      neither += (cancelled[i] == 0 && fired[i] == 0) ? 1 : 0;
    }
  }
  CHECK(both == 0);
  CHECK(neither == 0);
  const auto counts = group.count();
  CHECK(counts.fired + counts.cancelled == rounds * timers_each);
  CHECK(counts.fired != 0);
  CHECK(counts.cancelled != 0);
}
