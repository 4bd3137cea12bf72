// `when_all`: which worker runs the forked children and when, also while workers retire or the engine ends.

#include "children.hpp"
#include "fib.hpp"
#include "small_engine.hpp"

#include <corewise/engine/engine.hpp>
#include <corewise/engine/oneshot.hpp>
#include <corewise/engine/when_all.hpp>
#include <corewise/engine/yield.hpp>

#include <doctest/doctest.h>

#include <thread>

using namespace corewise;
using namespace corewise::tests;

TEST_CASE(
    "when_all: a suspended child does not hold up the other children, and its parent goes on when it ends") {
  const auto sends = [](oneshot_sender<int> out) -> task<int> {
    out.send(40);
    co_return 2;
  };
  const auto receives = [](oneshot_receiver<int> in) -> task<int> { co_return co_await in.receive(); };
  const auto body = [&]() -> task<int> {
    auto halves = make_oneshot<int>();
    auto [a, b] = co_await when_all(receives(std::move(halves.second)), sends(std::move(halves.first)));
    co_return a + b;
  };
  CHECK(run_on(1, body()) == 42);
}

TEST_CASE("when_all: a single worker runs the children that it has forked in place, from left to right") {
  engine e(small_profile(1));
  std::string order; // only one worker writes it
  const auto say = [](std::string& out, char c) -> task<> {
    out += c;
    co_return;
  };
  const auto body = [&](std::string& out) -> task<> {
    co_await when_all(say(out, 'a'), say(out, 'b'), say(out, 'c'));
  };
  sync_wait(e, body(order));
  CHECK(order == "abc");
  CHECK(e.metrics().total().forked == 2);
  CHECK(e.metrics().total().in_place == 2);
}

TEST_CASE("when_all: a task that a child submits is in the LIFO slot, and runs before the next child") {
  engine e(small_profile(1));
  std::string order; // only one worker writes it
  const auto submits = [&](std::string& out) -> task<> {
    out += 'a';
    if (e.submit([&out] { out += '-'; }) != submit_result::accepted) out += '!';
    co_return;
  };
  const auto says = [](std::string& out) -> task<> {
    out += 'b';
    co_return;
  };
  const auto body = [&](std::string& out) -> task<> { co_await when_all(submits(out), says(out)); };
  sync_wait(e, body(order));
  CHECK(order == "a-b");
}

TEST_CASE("when_all: idle workers take forked children, the oldest first, while their parent is busy") {
  engine e(small_profile(2));
  gate together;
  const auto meets = [](gate& g) -> task<> {
    g.pass();
    co_return;
  };
  const auto body = [&](gate& g) -> task<> { co_await when_all(meets(g), meets(g)); };
  future<void> done = e.run(body(together));
  together.wait_for(2); // both run at once
  together.open();
  done.get();
  CHECK(e.metrics().total().stolen[0] >= 1); // the parent may have been stolen, too
}

TEST_CASE("when_all: load, metrics and dump show the tasks that wait in a deque") {
  engine e(small_profile(1));
  gate closed;
  const auto waits = [](gate& g) -> task<> {
    g.pass();
    co_return;
  };
  const auto body = [&](gate& g) -> task<> { co_await when_all(waits(g), answer(1), answer(2), answer(3)); };
  future<void> done = e.run(body(closed));
  closed.wait_for(1);
  CHECK(e.metrics().total().forked == 3);
  CHECK(e.metrics().total().load == 4); // these three, and the task that runs
  CHECK(e.dump().seats[0].fork_depth == 3);
  CHECK(e.dump().seats[0].load.queued == 3);
  closed.open();
  done.get();
  e.drain();
  CHECK(e.metrics().total().load == 0);
}

TEST_CASE("when_all: endless forking starves no other task") {
  engine e(small_profile(1));
  std::atomic<bool> stop{false};
  const auto leaf = []() -> task<> { co_return; };
  const auto forks_on = [&](std::atomic<bool>& end) -> task<> {
    while (!end) co_await when_all(leaf(), leaf());
  };
  future<void> forking = e.run(forks_on(stop));
  // The tasks come through the inbox, the ring, and the queue of a class; each must have its turn.
  e.run([] {}).get();
  e.run([&] { return e.run([] {}); }).get().get();
  e.run([] {}, hint{.run_as = task_class::background}).get();
  e.run([] {}, hint{.run_as = task_class::latency}).get();
  stop = true;
  forking.get();
}

TEST_CASE("when_all: tasks that wake each other through the LIFO slot without end do not starve a fork") {
  engine e(small_profile(1));
  std::atomic<bool> stop{false};
  const auto plays = [&](std::atomic<bool>& end) -> task<> {
    while (!end) {
      auto ball = make_oneshot<int>();
      if (e.submit([&] { ball.first.send(1); }) != submit_result::accepted) co_return;
      co_await ball.second.receive();
    }
  };
  const auto ends = [](std::atomic<bool>& end) -> task<> {
    end = true;
    co_return;
  };
  const auto body = [&](std::atomic<bool>& end) -> task<> { co_await when_all(plays(end), ends(end)); };
  sync_wait(e, body(stop));
}

TEST_CASE("when_all: children have their parent's class") {
  engine e(small_profile(2));
  for (const task_class c : {task_class::latency, task_class::background})
    CHECK(e.run(fib(10), hint{.run_as = c}).get() == 55);
  const worker_metrics m = e.metrics().total();
  CHECK(m.forked == 0);
  CHECK(m.latency_runs > 80);
  CHECK(m.background_runs > 80);
}

TEST_CASE("when_all: a child that blocks lends its worker, and the worker's forks go on") {
  engine e(small_profile(1));
  std::atomic<bool> sent{false};
  const auto blocks = [](std::atomic<bool>& until) -> task<> {
    blocking([&] { until.wait(false); });
    co_await when_all(answer(1), answer(2)); // this thread has lost its seat
  };
  const auto frees = [](std::atomic<bool>& flag) -> task<> {
    flag = true;
    flag.notify_all();
    co_return;
  };
  const auto body = [&](std::atomic<bool>& flag) -> task<> { co_await when_all(blocks(flag), frees(flag)); };
  sync_wait(e, body(sent));
  CHECK(sent);
}

TEST_CASE("when_all: a whole tree counts as one task in flight, and drain waits for it") {
  engine e(small_profile(2));
  std::atomic<int> n{0};
  const auto body = [](std::atomic<int>& counted) -> task<> {
    std::vector<task<>> children;
    for (int i = 0; i < 100; ++i) children.push_back(count(counted));
    co_await when_all(std::move(children));
  };
  REQUIRE(e.submit(body(n)) == submit_result::accepted);
  e.drain();
  CHECK(n == 100);
  CHECK(e.metrics().submitted == 1);
  CHECK(e.metrics().finished == 1);
}

TEST_CASE("shutdown: a forked tree that is suspended or queued is dropped whole, each frame once") {
  std::atomic<int> alive{0};
  struct guest {
    explicit guest(std::atomic<int>& n) : there(&n) { there->fetch_add(1); }
    guest(const guest&) = delete;
    guest& operator=(const guest&) = delete;
    ~guest() { there->fetch_sub(1); }
    std::atomic<int>* there;
  };
  struct tree {
    static task<> grow(std::atomic<int>& n, int depth) {
      const guest g(n);
      if (depth > 0) co_await when_all(grow(n, depth - 1), grow(n, depth - 1), grow(n, 0));
      if (depth > 0) co_return;
      for (;;) co_await yield();
    }
  };
  for (const std::uint32_t workers : {1U, 2U, 4U}) {
    engine e(small_profile(workers));
    REQUIRE(e.submit(tree::grow(alive, 5)) == submit_result::accepted);
    while (alive == 0) std::this_thread::yield();
    const shutdown_report report = e.shutdown(std::chrono::milliseconds{0});
    CHECK(report.running.empty());
    CHECK(alive == 0);
    CHECK(e.metrics().in_flight() == 0);
  }
}

TEST_CASE("shutdown: a fork that has not begun is dropped with its parent") {
  std::atomic<int> n{0};
  engine e(small_profile(1));
  const auto forever = []() -> task<> {
    for (;;) co_await yield();
  };
  const auto body = [&](std::atomic<int>& counted) -> task<> {
    co_await when_all(forever(), count(counted));
    counted = 100;
  };
  REQUIRE(e.submit(body(n)) == submit_result::accepted);
  while (n == 0) std::this_thread::yield();
  CHECK(e.shutdown(std::chrono::milliseconds{0}).dropped == 1);
  CHECK(n == 1);
}

TEST_CASE("shutdown: a task whose last child runs to its end, after another was dropped, is dropped as well, "
          "and counted") {
  auto held = std::make_shared<gate>();
  const auto forever = []() -> task<> {
    for (;;) co_await yield();
  };
  const auto passes = [](std::shared_ptr<gate> way) -> task<> {
    way->pass();
    co_return;
  };
  const auto body = [&](std::shared_ptr<gate> way) -> task<> {
    co_await when_all(forever(), passes(std::move(way)));
  };
  engine e(small_profile(1));
  REQUIRE(e.submit(body(held)) == submit_result::accepted);
  held->wait_for(1);
  CHECK(e.shutdown(std::chrono::milliseconds{0}).running.size() == 1);
  CHECK(e.metrics().dropped == 0);
  held->open();
  while (e.metrics().in_flight() != 0) std::this_thread::yield();
  CHECK(e.metrics().dropped == 1);
}

TEST_CASE("retiring workers give away their forks") {
  engine e(small_profile(4));
  std::atomic<bool> stop{false};
  const auto forks_on = [](std::atomic<bool>& end) -> task<long> {
    long sum = 0;
    while (!end) sum += co_await fib(12);
    co_return sum;
  };
  std::vector<future<long>> all;
  for (int i = 0; i < 4; ++i) all.push_back(e.run(forks_on(stop)));
  for (int round = 0; round < 10; ++round)
    for (const std::uint32_t workers : {1U, 4U}) REQUIRE(e.apply(small_profile(workers)).applied());
  stop = true;
  for (future<long>& f : all) CHECK(f.get() % 144 == 0);
}
