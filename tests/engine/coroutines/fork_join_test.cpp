#include "fib.hpp"
#include "small_engine.hpp"

#include <corewise/engine/engine.hpp>
#include <corewise/engine/oneshot.hpp>
#include <corewise/engine/when_all.hpp>
#include <corewise/engine/yield.hpp>
#include <corewise/policies/steal_policy.hpp>

#include <doctest/doctest.h>

#include <array>
#include <numeric>
#include <optional>
#include <random>
#include <thread>

using namespace corewise;

namespace {

task<int> answer(int n) { co_return n; }

task<int> answer_later(int n) {
  for (int i = 0; i < n % 4; ++i) co_await yield();
  co_return n;
}

task<int> fails(std::string what, bool later) {
  if (later) co_await yield();
  throw std::runtime_error(what);
  co_return 0;
}

task<> count(std::atomic<int>& n) {
  n.fetch_add(1);
  co_return;
}

/// Awaits three children, of which the given ones fail. Returns the message of the failure, or "none".
task<std::string> first_of_failures(std::array<bool, 3> failing, bool later) {
  const auto child = [&](std::size_t i) {
    return failing[i] ? fails(std::string(1, char('a' + i)), later) : answer(1);
  };
  try {
    co_await when_all(child(0), child(1), child(2));
  } catch (const std::runtime_error& e) {
    co_return e.what();
  }
  co_return "none";
}

/// A tree that is the same for the same seed: which nodes fail, how often each is suspended, and how many
/// children it forks.
struct random_tree {
  std::uint64_t seed;
  int depth;

  std::uint64_t draw(std::uint64_t what) const noexcept {
    std::uint64_t x = seed + what * 0x9e3779b97f4a7c15ULL;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
    return x ^ x >> 31;
  }
  bool leaf() const noexcept { return depth == 0 || draw(1) % 8 == 0; }
  bool leaf_fails() const noexcept { return draw(2) % 16 == 0; }
  bool catches() const noexcept { return draw(3) % 2 == 0; }
  long value() const noexcept { return static_cast<long>(draw(4) % 100); }
  std::uint64_t children() const noexcept { return 1 + draw(5) % 4; }
  std::uint64_t pauses(std::uint64_t when) const noexcept { return draw(6 + when) % 4 / 2; }
  random_tree child(std::uint64_t i) const noexcept { return {draw(100 + i), depth - 1}; }

  /// Returns its value, or nothing if it fails.
  std::optional<long> grow() const {
    if (leaf()) return leaf_fails() ? std::nullopt : std::optional(value());
    long sum = value();
    bool failed = false;
    for (std::uint64_t i = 0; i < children(); ++i) {
      const std::optional<long> below = child(i).grow();
      failed = failed || !below;
      sum += below.value_or(0);
    }
    if (!failed) return sum;
    return catches() ? std::optional(1L) : std::nullopt;
  }

  static task<long> grown(random_tree t) {
    for (std::uint64_t i = 0; i < t.pauses(0); ++i) co_await yield();
    if (t.leaf()) {
      if (t.leaf_fails()) throw std::runtime_error("leaf");
      co_return t.value();
    }
    long sum = t.value();
    try {
      if (t.children() == 2) {
        auto [a, b] = co_await when_all(grown(t.child(0)), grown(t.child(1)));
        sum += a + b;
      } else {
        std::vector<task<long>> all;
        for (std::uint64_t i = 0; i < t.children(); ++i) all.push_back(grown(t.child(i)));
        for (const long below : co_await when_all(std::move(all))) sum += below;
      }
    } catch (const std::runtime_error&) {
      if (!t.catches()) throw;
      sum = 1;
    }
    for (std::uint64_t i = 0; i < t.pauses(1); ++i) co_await yield();
    co_return sum;
  }
};

/// Waits for a task on this thread, which is no worker and so may block.
template <class T> T run_on(std::uint32_t workers, task<T> work) {
  engine e(small_profile(workers));
  return sync_wait(e, std::move(work));
}

} // namespace

TEST_CASE("when_all: fib is right with one worker, two and eight") {
  for (const std::uint32_t workers : {1U, 2U, 8U}) {
    CAPTURE(workers);
    CHECK(run_on(workers, fib(25)) == 75025);
  }
}

TEST_CASE("when_all: fib is right under every steal policy") {
  for (const std::string_view policy : steal_policy_names()) {
    CAPTURE(policy);
    profile p = small_profile(8);
    p.steal.policy = policy;
    engine e(p);
    CHECK(sync_wait(e, fib(20)) == 6765);
  }
}

TEST_CASE("when_all: values come in the order of the arguments, in any order of ending") {
  const auto body = []() -> task<std::tuple<int, int, int, int>> {
    co_return co_await when_all(answer_later(3), answer_later(2), answer_later(1), answer_later(0));
  };
  for (const std::uint32_t workers : {1U, 4U}) CHECK(run_on(workers, body()) == std::tuple(3, 2, 1, 0));
}

TEST_CASE("when_all: a void child is a monostate among values, and void children alone give no value") {
  std::atomic<int> n{0};
  const auto body = [](std::atomic<int>& counted) -> task<int> {
    auto [seven, nothing] = co_await when_all(answer(7), count(counted));
    static_assert(std::is_same_v<decltype(nothing), std::monostate>);
    co_await when_all(count(counted), count(counted));
    co_return seven;
  };
  CHECK(run_on(2, body(n)) == 7);
  CHECK(n == 3);
}

TEST_CASE("when_all: a range of any size, also of none") {
  const auto body = [](int size) -> task<long> {
    std::vector<task<int>> children;
    for (int i = 0; i < size; ++i) children.push_back(answer_later(i));
    const std::vector<int> values = co_await when_all(std::move(children));
    for (int i = 0; i < size; ++i)
      if (values[static_cast<std::size_t>(i)] != i) co_return -1;
    co_return std::accumulate(values.begin(), values.end(), 0L);
  };
  for (const int size : {0, 1, 2, 1000})
    for (const std::uint32_t workers : {1U, 4U}) {
      CAPTURE(size);
      CHECK(run_on(workers, body(size)) == size * (size - 1L) / 2);
    }
}

TEST_CASE("when_all: it throws the leftmost exception when all have ended, for any set of children that "
          "fail, at once or later") {
  for (const bool later : {false, true})
    for (unsigned which = 0; which < 8; ++which) {
      const std::array failing{(which & 1) != 0, (which & 2) != 0, (which & 4) != 0};
      std::string expected = "none";
      for (std::size_t i = 3; i-- > 0;)
        if (failing[i]) expected = std::string(1, char('a' + i));
      CAPTURE(which);
      CHECK(run_on(2, first_of_failures(failing, later)) == expected);
    }
}

TEST_CASE("when_all: random trees, whose nodes fork, suspend, fail and catch, give the right values") {
  const std::uint64_t first = std::random_device()();
  for (const std::uint32_t workers : {1U, 2U, 8U}) {
    engine e(small_profile(workers));
    for (std::uint64_t seed = first; seed < first + 100; ++seed) {
      CAPTURE(workers);
      CAPTURE(seed);
      const random_tree tree{seed, 6};
      std::optional<long> found;
      try {
        found = sync_wait(e, random_tree::grown(tree));
      } catch (const std::runtime_error&) {
        found.reset();
      }
      CHECK(found == tree.grow());
    }
  }
}

TEST_CASE("when_all: outside of an engine's tasks it is refused") {
  const auto body = []() -> task<> { co_await when_all(answer(1), answer(2)); };
  auto alone = body();
  auto awaiter = std::move(alone).operator co_await();
  awaiter.await_suspend(std::noop_coroutine()).resume();
  CHECK_THROWS_AS(awaiter.await_resume(), std::logic_error);
}

TEST_CASE(
    "when_all: a suspended child does not hold up the other children, and its parent goes on when it ends") {
  oneshot<int> shot;
  const auto sends = [](oneshot<int>& out) -> task<int> {
    out.send(40);
    co_return 2;
  };
  const auto receives = [](oneshot<int>& in) -> task<int> { co_return co_await in.receive(); };
  const auto body = [&](oneshot<int>& both) -> task<int> {
    auto [a, b] = co_await when_all(receives(both), sends(both));
    co_return a + b;
  };
  CHECK(run_on(1, body(shot)) == 42);
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
      oneshot<int> ball;
      if (e.submit([&] { ball.send(1); }) != submit_result::accepted) co_return;
      co_await ball.receive();
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
