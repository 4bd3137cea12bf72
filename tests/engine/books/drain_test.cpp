#include "runtime/runtime.hpp"
#include "small_engine.hpp"

#include <corewise/engine/yield.hpp>

#include <doctest/doctest.h>

#include <thread>

using namespace corewise;

TEST_CASE("drain: it also waits for the tasks that drained tasks submit") {
  engine e(small_profile(4));
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> runs{0};
    struct tree {
      engine* e;
      std::atomic<int>* runs;
      int depth;
      void operator()() const {
        runs->fetch_add(1);
        for (int i = 0; i < 2 && depth > 0; ++i)
          if (e->submit(tree{e, runs, depth - 1}) != submit_result::accepted) std::abort();
      }
    };
    CHECK(e.submit(tree{&e, &runs, 6}) == submit_result::accepted);
    e.drain();
    CHECK(runs == 127);
  }
}

TEST_CASE("drain: it does not wait for tasks that others submit after the call") {
  engine e(small_profile(2));
  std::atomic<bool> stop{false};
  std::thread flood([&] {
    while (!stop.load()) static_cast<void>(e.submit([] {}));
  });
  for (int i = 0; i < 20; ++i) {
    std::atomic<bool> ran{false};
    CHECK(e.submit([&] { ran = true; }) == submit_result::accepted);
    e.drain();
    CHECK(ran);
  }
  stop = true;
  flood.join();
}

TEST_CASE("drain: it ends after the last task, although the worker of that task goes on with a task that "
          "waits for the drain") {
  engine e(small_profile(1));
  gate held;
  std::atomic<bool> drained{false};
  // The third task of a tick: the clock is not read after it, so the tick does not end there.
  runtime* inside = nullptr;
  for (int i = 0; i < 2; ++i)
    CHECK(e.submit([&] { inside = detail::this_execution.engine; }) == submit_result::accepted);
  CHECK(e.submit([&] { held.pass(); }) == submit_result::accepted);
  held.wait_for(1);
  const std::uint8_t open = inside->drains().open_phase();
  std::thread drainer([&] {
    e.drain();
    drained = true;
    drained.notify_all();
  });
  while (inside->drains().open_phase() == open) std::this_thread::yield();
  CHECK(e.submit([&] { drained.wait(false); }) == submit_result::accepted);
  held.open();
  drainer.join();
  e.drain();
  CHECK(drained);
}

TEST_CASE("drain: several threads may drain at once") {
  engine e(small_profile(4));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        std::atomic<int> ran{0};
        for (int k = 0; k < 5; ++k) CHECK(e.submit([&] { ran.fetch_add(1); }) == submit_result::accepted);
        e.drain();
        CHECK(ran == 5);
      }
    });
  for (auto& t : threads) t.join();
}

TEST_CASE("drain: a call on a worker would deadlock, so it throws an error") {
  engine e(small_profile(1));
  std::atomic<int> errors{0};
  CHECK(e.submit([&] {
    try {
      e.drain();
    } catch (const std::logic_error&) {
      errors.fetch_add(1);
    }
    try {
      static_cast<void>(e.shutdown(std::chrono::seconds{1}));
    } catch (const std::logic_error&) {
      errors.fetch_add(1);
    }
    blocking([&] {
      try {
        e.drain();
      } catch (const std::logic_error&) {
        errors.fetch_add(1);
      }
    });
  }) == submit_result::accepted);
  e.drain();
  CHECK(errors == 3);
}

TEST_CASE("drain: two coroutines that take turns each stay in the phase in which they were submitted") {
  engine e(small_profile(1));
  runtime& inside = inside_of(e);
  std::atomic<int> begun{0};
  int wrong = 0; // only the worker writes it
  std::atomic<int> ended{0};
  const auto take_turns = [](std::atomic<int>& all, std::atomic<int>& left, int& strays) -> task<> {
    const std::uint8_t mine = detail::this_execution.phase;
    all.fetch_add(1);
    while (all != 2) co_await yield();
    for (int turns = 0; turns < 200'000; ++turns) {
      co_await yield();
      if (detail::this_execution.phase != mine) ++strays;
    }
    left.fetch_add(1);
  };
  REQUIRE(e.submit(take_turns(begun, ended, wrong)) == submit_result::accepted);
  while (begun != 1) std::this_thread::yield();
  const std::uint8_t first = inside.drains().open_phase();
  inside.drains().drain([](std::uint8_t) { return true; }); // a drain that does not wait
  REQUIRE(inside.drains().open_phase() != first);
  REQUIRE(e.submit(take_turns(begun, ended, wrong)) == submit_result::accepted);
  while (ended != 2) std::this_thread::yield();
  CHECK(wrong == 0);
  e.drain();
}

TEST_CASE("drain: what it has waited for counts to no limit any more") {
  profile p = small_profile(2);
  p.limits.in_flight = 1;
  engine e(p);
  int full = 0;
  for (int i = 0; i < 20'000; ++i) {
    full += e.submit([] {}) == submit_result::accepted ? 0 : 1;
    e.drain();
  }
  CHECK(full == 0);
}
