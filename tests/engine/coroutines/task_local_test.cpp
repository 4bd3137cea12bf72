// Task-local values: which task sees which.

#include "small_engine.hpp"

#include <corewise/engine/blocking_scope.hpp>
#include <corewise/engine/event.hpp>
#include <corewise/engine/parallel_for.hpp>
#include <corewise/engine/scope.hpp>
#include <corewise/engine/sync_wait.hpp>
#include <corewise/engine/task_local.hpp>
#include <corewise/engine/when_all.hpp>
#include <corewise/engine/yield.hpp>

#include <doctest/doctest.h>

#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

using namespace corewise;
using namespace std::chrono_literals;

namespace {

task_local<std::string> user;
task_local<int> depth;

std::string user_here() { return user.get() != nullptr ? *user.get() : "nobody"; }
int depth_here() { return depth.get() != nullptr ? *depth.get() : 0; }

task<std::string> ask_later() {
  co_await yield();
  co_return user_here();
}

} // namespace

TEST_CASE("task_local: the newest value holds, until it ends, in a thread and in a plain task") {
  const auto nested = [] {
    std::string seen = user_here();
    {
      const task_local<std::string>::value one(user, "ann");
      const task_local<int>::value other(depth, 1);
      seen += ' ' + user_here();
      {
        const task_local<std::string>::value two(user, 3U, 'x');
        seen += ' ' + user_here() + std::to_string(depth_here());
      }
      seen += ' ' + user_here();
    }
    return seen + ' ' + user_here();
  };
  CHECK(nested() == "nobody ann xxx1 ann nobody");
  engine e(small_profile(1));
  CHECK(e.run(nested).get() == "nobody ann xxx1 ann nobody");
  CHECK(e.run([&]() -> task<std::string> { co_return nested(); }).get() == "nobody ann xxx1 ann nobody");
}

TEST_CASE("task_local: a coroutine keeps its values when it is suspended, and no other task sees them") {
  engine e(small_profile(1));
  const auto ask_as = [](std::string name) -> task<std::string> {
    const task_local<std::string>::value bound(user, name);
    co_await yield();
    std::string seen = user_here();
    seen += co_await ask_later();
    co_return seen + user_here();
  };
  auto ann = e.run(ask_as("ann"));
  auto bob = e.run(ask_as("bob"));
  auto none = e.run(ask_later());
  CHECK(ann.get() == "annannann");
  CHECK(bob.get() == "bobbobbob");
  CHECK(none.get() == "nobody");
}

TEST_CASE("task_local: children inherit it, a submitted task does not") {
  engine e(small_profile(4));
  const auto work = [&]() -> task<> {
    const task_local<std::string>::value bound(user, "ann");
    const auto [a, b] = co_await when_all(ask_later(), ask_later());
    CHECK(a == "ann");
    CHECK(b == "ann");
    const std::string in = co_await in_scope([](scope& s) -> task<std::string> {
      s.fork([]() -> task<> { CHECK(co_await ask_later() == "ann"); }());
      const task_local<std::string>::value own(user, "bob"); // the scope's other children do not see it
      s.fork([]() -> task<> { CHECK(co_await ask_later() == "ann"); }());
      co_return user_here();
    });
    CHECK(in == "bob");
    std::vector<int> numbers(100'000);
    std::atomic<int> seen{0};
    co_await parallel_for(numbers, [&](int&) {
      if (user_here() == "ann") seen.fetch_add(1, std::memory_order_relaxed);
    });
    CHECK(seen == 100'000);
    CHECK(co_await e.run([] { return user_here(); }) == "nobody");
  };
  for (int i = 0; i < 20; ++i) sync_wait(e, [](const auto& f) -> task<> { co_await f(); }(work));
}

TEST_CASE("task_local: the calls of a blocking_scope see what was bound when it was made") {
  engine e(small_profile(4));
  const auto work = [&] {
    std::vector<std::string> seen(4);
    {
      const task_local<std::string>::value bound(user, "ann");
      blocking_scope s;
      const task_local<std::string>::value later(user, "bob");
      for (std::string& one : seen)
        s.fork([&one] {
          const task_local<int>::value own(depth, 1);
          blocking_scope inner;
          inner.fork([&one] { one = user_here() + std::to_string(depth_here()); });
          inner.wait();
        });
      CHECK(user_here() == "bob");
      s.wait();
      CHECK(user_here() == "bob");
    }
    CHECK(user_here() == "nobody");
    return std::accumulate(seen.begin(), seen.end(), std::string());
  };
  for (int i = 0; i < 200; ++i) {
    CHECK(e.run(work).get() == "ann1ann1ann1ann1");
    CHECK(e.run([&]() -> task<std::string> { co_return work(); }).get() == "ann1ann1ann1ann1");
  }
}

TEST_CASE("task_local: a coroutine that a shutdown drops ends its values") {
  struct counts {
    explicit counts(int* n) : ended(n) {}
    counts(counts&& other) noexcept : ended(std::exchange(other.ended, nullptr)) {}
    counts& operator=(counts&&) = delete;
    ~counts() {
      if (ended != nullptr) ++*ended;
    }
    int* ended;
  };
  task_local<counts> key;
  int ended = 0;
  event never;
  engine e(small_profile(2));
  const auto wait = [](event& until, const task_local<counts>& k, int& n) -> task<> {
    const task_local<counts>::value outer(k, &n);
    const task_local<counts>::value inner(k, &n);
    co_await until.wait();
  };
  const auto both = [](const auto& f, event& until, const task_local<counts>& k, int& n) -> task<> {
    const task_local<counts>::value bound(k, &n);
    co_await when_all(f(until, k, n), f(until, k, n));
  };
  REQUIRE(e.submit(both(wait, never, key, ended)) == submit_result::accepted);
  while (e.dump().suspended.empty()) std::this_thread::yield();
  CHECK(e.shutdown(10ms).dropped == 1);
  CHECK(ended == 5);
}

namespace {

/// Forks a random tree in which each task binds its depth, and checks what it sees before and after.
task<bool> random_tree(std::uint64_t seed, int at);

bool random_calls(std::uint64_t seed, int at) {
  if (depth_here() != at - 1) return false;
  const task_local<int>::value bound(depth, at);
  std::minstd_rand random(static_cast<unsigned>(seed));
  std::atomic<bool> right{true};
  blocking_scope s;
  for (unsigned n = at < 5 ? random() % 4 : 0; n != 0; --n)
    s.fork([&right, at, next = random()] {
      if (!random_calls(next, at + 1)) right = false;
    });
  s.wait();
  return right && depth_here() == at;
}

task<> forked(std::atomic<bool>& right, std::uint64_t seed, int at) {
  const bool all = co_await random_tree(seed, at);
  if (!all) right = false;
}

task<bool> random_tree(std::uint64_t seed, int at) {
  if (depth_here() != at - 1) co_return false;
  const task_local<int>::value bound(depth, at);
  std::minstd_rand random(static_cast<unsigned>(seed));
  if (at > 5) co_return random() % 2 == 0 || random_calls(random(), at + 1);
  if (random() % 3 == 0) co_await yield();
  bool right = depth_here() == at;
  switch (random() % 3) {
  case 0: {
    const auto [a, b] = co_await when_all(random_tree(random(), at + 1), random_tree(random(), at + 1));
    right = right && a && b;
    break;
  }
  case 1: {
    std::atomic<bool> all{true};
    const auto body = [&all, at, next = random()](scope& s) -> task<> {
      for (unsigned i = 0; i < 3; ++i) s.fork(forked(all, next + i, at + 1));
      co_return;
    };
    co_await in_scope(body);
    right = right && all;
    break;
  }
  default: {
    const bool below = co_await random_tree(random(), at + 1);
    right = right && below;
  }
  }
  right = right && depth_here() == at;
  co_return right;
}

} // namespace

TEST_CASE("task_local: in random trees of tasks on many workers each task sees its parent's value") {
  const unsigned first = std::random_device{}();
  CAPTURE(first);
  engine e(small_profile(16));
  for (unsigned i = 0; i < 200; ++i) CHECK(e.run(random_tree(first + i, 1)).get());
}
