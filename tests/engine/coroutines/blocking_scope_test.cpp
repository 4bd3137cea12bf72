// Blocking scopes: which thread runs the forked calls, and when.

#include "small_engine.hpp"
#include "stand_still.hpp"

#include <corewise/engine/blocking_scope.hpp>
#include <corewise/engine/engine.hpp>
#include <corewise/engine/scope.hpp>
#include <corewise/engine/sync_wait.hpp>

#include <doctest/doctest.h>

#include <random>
#include <thread>

using namespace corewise;
using namespace corewise::tests;

namespace {

long plain_fib(int n) {
  if (n < 2) return n;
  long a = 0;
  blocking_scope s;
  s.fork([&] { a = plain_fib(n - 1); });
  const long b = plain_fib(n - 2);
  s.wait();
  return a + b;
}

} // namespace

TEST_CASE("blocking scope: all forked calls have run when the scope ends, at any depth") {
  for (const std::uint32_t workers : {1U, 2U, 8U}) {
    engine e(small_profile(workers));
    CHECK(e.run([] { return plain_fib(18); }).get() == 2584);
    e.drain();
    CHECK(e.metrics().in_flight() == 0);
    while (e.metrics().waiting() != 0) std::this_thread::yield(); // until the thieves rest
    CHECK(e.metrics().submitted == 1);
  }
}

TEST_CASE(
    "blocking scope: a single worker without spare threads runs all calls while it waits, the newest first") {
  profile p = small_profile(1);
  p.blocking.spares_max = 0;
  engine e(p);
  const auto work = [] {
    std::string order;
    blocking_scope s;
    for (const char c : {'a', 'b', 'c'}) s.fork([&order, c] { order += c; });
    order += '-';
    s.wait();
    s.fork([&] { order += 'd'; });
    s.wait();
    return order;
  };
  CHECK(e.run(work).get() == "-cbad");
  const worker_metrics m = e.metrics().total();
  CHECK(m.forked == 4);
  CHECK(m.in_place == 4);
  CHECK(m.blocking_calls == 0);
}

TEST_CASE("blocking scope: a thread outside waits for tasks of its own") {
  engine e(small_profile(2));
  std::atomic<int> sum{0};
  blocking_scope s(e);
  for (int i = 1; i <= 100; ++i)
    s.fork([&sum, i] {
      REQUIRE(detail::this_execution.seat != nullptr);
      sum += i;
    });
  s.wait();
  CHECK(sum == 5050);
  CHECK(e.metrics().submitted == 100);
  s.fork([&] { sum = static_cast<int>(plain_fib(10)); });
  s.wait();
  CHECK(sum == 55);
}

TEST_CASE("blocking scope: a task of one engine waits for calls on another") {
  engine one(small_profile(1));
  engine other(small_profile(1));
  const auto work = [&] {
    std::optional<worker_id> here;
    std::optional<worker_id> there;
    blocking_scope s(other);
    s.fork([&] { here = one.this_worker(), there = other.this_worker(); });
    s.wait();
    return !here && there;
  };
  CHECK(one.run(work).get());
}

TEST_CASE("blocking scope: outside of tasks it needs an engine") {
  CHECK_THROWS_AS(blocking_scope{}, std::logic_error);
}

TEST_CASE("blocking scope: a waiting task takes calls that the thief of its child has forked") {
  profile p = small_profile(2);
  p.blocking.spares_max = 0;
  engine e(p);
  std::atomic<bool> forked{false};
  std::atomic<bool> ran{false};
  const auto work = [&] {
    blocking_scope outer;
    outer.fork([&] {
      blocking_scope inner;
      inner.fork([&] { ran = true; });
      forked = true;
      stand_still_until(ran); // so that this worker does not run the child itself
      inner.wait();
    });
    stand_still_until(forked); // the other worker has the child
    outer.wait();
  };
  e.run(work).get();
  CHECK(ran);
  CHECK(e.metrics().total().leapfrogged == 1);
}

TEST_CASE("blocking scope: a waiting task runs only calls of its own scope") {
  // Each task holds the lock while it waits. If the wait ran another of these tasks, that task would wait for
  // its own thread.
  engine e(small_profile(3));
  std::mutex lock;
  std::atomic<int> rounds{0};
  for (int i = 0; i < 200; ++i)
    REQUIRE(e.submit([&] {
      const std::scoped_lock held(lock);
      blocking_scope s;
      for (int child = 0; child < 4; ++child)
        s.fork([&] {
          blocking_scope within;
          within.fork([&] { rounds.fetch_add(1); });
          within.wait();
        });
      s.wait();
    }) == submit_result::accepted);
  e.drain();
  CHECK(rounds == 800);
}

TEST_CASE("blocking scope: while the waiting thread sleeps, a spare thread works on its seat") {
  engine e(small_profile(2));
  std::atomic<bool> begun{false};
  std::atomic<bool> open{false};
  future<void> waits = e.run([&] {
    blocking_scope s;
    s.fork([&] {
      begun = true;
      stand_still_until(open);
    });
    stand_still_until(begun); // the other worker runs it
    s.wait();
  });
  stand_still_until(begun);
  e.run([&] { open = true; }).get(); // both workers are in tasks that do not end before this one has run
  waits.get();
  CHECK(e.metrics().total().taken_seats >= 1);
}

TEST_CASE(
    "blocking scope: a call that loses the worker leaves the other calls to the next thread on the seat") {
  engine e(small_profile(1));
  std::atomic<int> runs{0};
  e.run([&] {
     blocking_scope s;
     for (int i = 0; i < 10; ++i)
       s.fork([&] {
         runs.fetch_add(1);
         runs.notify_all();
       });
     s.fork([&] { blocking([&] { runs.wait(0); }); }); // the newest; the worker runs the others meanwhile
     s.wait();
   }).get();
  CHECK(runs == 10);
  CHECK(e.metrics().total().taken_seats >= 1);
}

TEST_CASE("blocking scope: a coroutine's other forks in between do not hide the calls of the scope") {
  profile p = small_profile(1);
  p.blocking.spares_max = 0;
  engine e(p);
  const auto work = []() -> task<std::string> {
    std::string order;
    const auto say = [&order](char c) -> task<> {
      order += c;
      co_return;
    };
    co_await in_scope([&](scope& others) -> task<> {
      blocking_scope s;
      s.fork([&] { order += 'a'; });
      others.fork(say('x'));
      s.fork([&] { order += 'b'; });
      others.fork(say('y'));
      s.wait();
      order += '|';
      co_return;
    });
    co_return order;
  };
  CHECK(sync_wait(e, work()) == "ba|yx");
}

TEST_CASE("blocking scope: wait throws not_run for calls that the engine refuses or drops") {
  SUBCASE("refused") {
    profile p = small_profile(1);
    p.limits.in_flight = 1;
    engine e(p);
    gate held;
    blocking_scope s(e);
    s.fork([&] { held.pass(); });
    held.wait_for(1);
    s.fork([] {});
    held.open();
    CHECK_THROWS_AS(s.wait(), not_run);
  }
  SUBCASE("dropped") {
    engine e(small_profile(1));
    gate held;
    blocking_scope s(e);
    s.fork([&] { held.pass(); });
    held.wait_for(1);
    for (int i = 0; i < 10; ++i) s.fork([] { FAIL("it should be dropped"); });
    CHECK(e.shutdown(std::chrono::nanoseconds{0}).running.size() == 1);
    held.open();
    CHECK_THROWS_AS(s.wait(), not_run);
  }
}

TEST_CASE("blocking scope: the copies of forked calls are destroyed before the scope ends") {
  engine e(small_profile(4));
  const auto held = std::make_shared<int>(7);
  const auto work = [&] {
    long bad = 0;
    for (int round = 0; round < 500; ++round) {
      blocking_scope s;
      for (int i = 0; i < 8; ++i)
        s.fork([copy = held, room = std::array<std::byte, 600>{}] { static_cast<void>(room); });
      s.wait();
      bad += held.use_count() - 1;
    }
    return bad;
  };
  CHECK(e.run(work).get() == 0);
}

namespace {

/// A random tree of calls: some block, some throw, all are counted.
struct blocking_tree {
  std::uint64_t seed;
  std::atomic<int>& runs;

  void operator()(int depth, std::uint64_t node) const {
    std::mt19937_64 random(seed ^ (node * 0x9E3779B97F4A7C15ULL));
    runs.fetch_add(1);
    if (random() % 64 == 0) blocking([] { std::this_thread::yield(); });
    if (random() % 256 == 0) blocking([] { std::this_thread::sleep_for(std::chrono::microseconds{300}); });
    if (depth == 0) return;
    blocking_scope s;
    const int children = static_cast<int>(random() % 4);
    for (int i = 0; i < children; ++i)
      s.fork(
          [this, depth, child = node * 4 + static_cast<std::uint64_t>(i) + 1] { (*this)(depth - 1, child); });
    s.wait();
  }

  int size(int depth, std::uint64_t node) const {
    std::mt19937_64 random(seed ^ (node * 0x9E3779B97F4A7C15ULL));
    random.discard(2);
    if (depth == 0) return 1;
    int n = 1;
    const int children = static_cast<int>(random() % 4);
    for (int i = 0; i < children; ++i) n += size(depth - 1, node * 4 + static_cast<std::uint64_t>(i) + 1);
    return n;
  }
};

} // namespace

TEST_CASE("blocking scope: random trees on too many workers run each call once") {
  const std::uint64_t seed = std::random_device{}();
  MESSAGE("seed ", seed);
  for (const std::uint32_t workers : {1U, 2U, 3U, 16U}) {
    engine e(small_profile(workers));
    std::atomic<int> runs{0};
    int expected = 0;
    blocking_scope all(e);
    std::vector<std::unique_ptr<blocking_tree>> trees;
    for (std::uint64_t i = 0; i < 40; ++i) {
      const blocking_tree& tree = *trees.emplace_back(new blocking_tree{seed + i * 1000 + workers, runs});
      expected += tree.size(8, 0);
      all.fork([&tree] { tree(8, 0); });
    }
    all.wait();
    CHECK(runs == expected);
    e.drain();
    CHECK(e.metrics().in_flight() == 0);
    CHECK(e.metrics().total().rescued_by_timeout == 0);
  }
}
