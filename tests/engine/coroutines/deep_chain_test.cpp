// Chains of coroutines that await each other, longer than a stack has room for, when their engine drops them.

#include "counts.hpp"
#include "small_engine.hpp"
#include "suspended.hpp"

#include <corewise/engine/event.hpp>
#include <corewise/engine/parallel_for.hpp>
#include <corewise/engine/scope.hpp>
#include <corewise/engine/sleep.hpp>
#include <corewise/engine/when_all.hpp>
#include <corewise/engine/when_any.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <thread>
#include <vector>

using namespace corewise;
using namespace corewise::tests;
using namespace std::chrono_literals;

namespace {

/// Each takes some hundred bytes where destruction is recursive; a stack has 8 MB.
constexpr int deep = count_of(200'000, 1'000'000);

/// Counts the frames of a chain that are gone, and those that went before the frame that they await.
struct chain {
  std::atomic<int> begun{0};
  std::atomic<int> ended{0};
  std::atomic<int> innermost{deep + 1}; ///< of the frames that are left
  std::atomic<int> out_of_order{0};
};

struct link {
  link(chain& c, int at) : of(&c), depth(at) { of->begun.fetch_add(1); }
  link(const link&) = delete;
  link& operator=(const link&) = delete;
  ~link() {
    if (of->innermost.exchange(depth) != depth + 1) of->out_of_order.fetch_add(1);
    of->ended.fetch_add(1);
  }
  chain* of;
  int depth;
};

template <class Wait> task<> nests(chain& c, int at, const Wait& wait) {
  const link here(c, at);
  if (at == deep)
    static_cast<void>(co_await wait());
  else
    co_await nests(c, at + 1, wait);
  FAIL("it went on");
}

task<> waits_for(event& e) { co_await e.wait(); }

/// Lets `root` begin the chain, which then waits, and ends the engine.
void drop_chain(chain& c, task<> root) {
  {
    engine e(small_profile(1));
    REQUIRE(e.submit(std::move(root)) == submit_result::accepted);
    while (c.begun != deep) std::this_thread::yield();
    std::this_thread::sleep_for(10ms);
    static_cast<void>(e.shutdown(0ms));
    while (c.ended != deep) std::this_thread::yield(); // a worker may still be in the chain
  }
  CHECK(c.out_of_order == 0);
}

template <class Wait> void drop_chain_above(const Wait& wait) {
  chain c;
  drop_chain(c, nests(c, 1, wait));
}

} // namespace

TEST_CASE("shutdown: a deep chain of coroutines that waits is destroyed without the stack") {
  event never;
  drop_chain_above([&] { return never.wait(); });
}

TEST_CASE("shutdown: a deep chain of coroutines that sleeps is destroyed without the stack") {
  drop_chain_above([] { return sleep_for(1h); });
}

TEST_CASE("shutdown: a deep chain of coroutines in a scope is destroyed without the stack") {
  event never;
  chain c;
  const auto wait = [&] { return never.wait(); };
  const auto outer = [&]() -> task<> {
    const auto body = [&](scope& s) -> task<> {
      s.fork(nests(c, 1, wait));
      co_return;
    };
    co_await in_scope(body);
  };
  drop_chain(c, outer());
}

TEST_CASE("shutdown: a deep chain of coroutines above when_all is destroyed without the stack") {
  event never;
  drop_chain_above([&] { return when_all(waits_for(never), waits_for(never)); });
}

TEST_CASE("shutdown: a deep chain of coroutines above a range of children is destroyed without the stack") {
  event never;
  drop_chain_above([&] {
    std::vector<task<>> children;
    for (int i = 0; i < 3; ++i) children.push_back(waits_for(never));
    return when_all(std::move(children));
  });
}

TEST_CASE("shutdown: a deep chain of coroutines in a child of when_all is destroyed without the stack") {
  event never;
  const auto wait = [&] { return never.wait(); };
  for (const bool first : {true, false}) { // in place; away
    CAPTURE(first);
    chain c;
    const auto parent = [&]() -> task<> {
      if (first)
        co_await when_all(nests(c, 1, wait), waits_for(never), waits_for(never));
      else
        co_await when_all(waits_for(never), nests(c, 1, wait), waits_for(never));
    };
    drop_chain(c, parent());
  }
}

TEST_CASE("shutdown: a deep chain of coroutines above when_any is destroyed without the stack") {
  event never;
  drop_chain_above([&] { return when_any(waits_for(never), waits_for(never)); });
}

TEST_CASE("shutdown: a deep chain of coroutines above a scope is destroyed without the stack") {
  event never;
  drop_chain_above([&] {
    return in_scope([&](scope& s) -> task<> {
      s.fork(waits_for(never));
      co_return;
    });
  });
}

TEST_CASE("shutdown: a deep chain of coroutines above a parallel loop is destroyed without the stack") {
  std::atomic<int> calls{0};
  drop_chain_above([&] {
    return parallel_for(std::uint64_t{0}, std::uint64_t{1} << 60, [&](std::uint64_t) { ++calls; });
  });
}

namespace {

/// Each coroutine but the last forks the next one, as the first or as the second child.
task<> forks_down(chain& c, int at, event& until, bool first) {
  const link here(c, at);
  if (at == deep)
    co_await until.wait();
  else if (first)
    co_await when_all(forks_down(c, at + 1, until, first));
  else
    co_await when_all([]() -> task<> { co_return; }(), forks_down(c, at + 1, until, first));
  FAIL("it went on");
}

struct alignas(64) wide {
  std::shared_ptr<int> held;
};

task<wide> holds(std::shared_ptr<int> value) { co_return wide{std::move(value)}; }

task<wide> nests_wide(chain& c, int at, event& until) {
  const link here(c, at);
  if (at == deep)
    co_await until.wait();
  else
    static_cast<void>(co_await nests_wide(c, at + 1, until));
  FAIL("it went on");
  co_return wide{};
}

} // namespace

TEST_CASE("shutdown: coroutines of which each is a child of the one before are destroyed without the stack") {
  event never;
  for (const bool first : {true, false}) { // in place; taken back, or away
    CAPTURE(first);
    chain c;
    drop_chain(c, forks_down(c, 1, never, first));
  }
}

TEST_CASE("shutdown: a deep chain of coroutines with aligned values is destroyed without the stack") {
  event never;
  chain c;
  const auto root = [&]() -> task<> {
    const auto value = std::make_shared<int>(7);
    {
      const wide w = co_await holds(value);
      CHECK(w.held == value);
    }
    CHECK(value.use_count() == 1);
    static_cast<void>(co_await nests_wide(c, 1, never));
    FAIL("it went on");
  };
  drop_chain(c, root());
}

TEST_CASE("shutdown: the coroutines that a child awaits stay until all children of when_all are still") {
  gate held;
  chain c;
  const auto sleeps = [] { return sleep_for(1h); };
  const auto is_held = [&]() -> task<> {
    held.pass();
    co_return;
  };
  const auto parent = [&]() -> task<> {
    co_await when_all(nests(c, 1, sleeps), is_held());
    FAIL("it went on");
  };
  {
    engine e(small_profile(1));
    REQUIRE(e.submit(parent()) == submit_result::accepted);
    held.wait_for(1);
    CHECK(e.shutdown(0ms).running.size() == 1);
    CHECK(c.ended == 0);
    held.open();
    while (c.ended != deep) std::this_thread::yield();
  }
  CHECK(c.out_of_order == 0);
}
