#include "small_engine.hpp"

#include <doctest/doctest.h>

#include <thread>

using namespace corewise;

TEST_CASE("blocking: a single worker's seat goes on working while its first task blocks") {
  engine e(small_profile(1));
  gate held;
  std::atomic<bool> after{false};
  CHECK(e.submit([&] {
    blocking([&] { held.pass(); });
    after = true;
  }) == submit_result::accepted);
  held.wait_for(1);
  std::atomic<int> runs{0};
  for (int i = 0; i < 100; ++i)
    CHECK(e.submit([&] {
      runs.fetch_add(1);
      runs.notify_all();
    }) == submit_result::accepted);
  for (int now = runs.load(); now < 100; now = runs.load()) runs.wait(now);
  CHECK_FALSE(after);
  held.open();
  e.drain();
  CHECK(after);
  CHECK(e.metrics().total().blocking_calls == 1);
}

TEST_CASE("blocking: answers what the function answers, throws what it throws, and works outside an engine") {
  CHECK(blocking([] { return 5; }) == 5);
  int value = 1;
  blocking([&]() -> int& { return value; }) = 2;
  CHECK(value == 2);
  CHECK_THROWS_AS(blocking([] { throw std::runtime_error("x"); }), std::runtime_error);
}

TEST_CASE("blocking: a task without a seat still submits, and drain covers what it submits") {
  engine e(small_profile(1));
  std::atomic<int> runs{0};
  CHECK(e.submit([&] {
    blocking([] {});
    CHECK_FALSE(e.this_worker().has_value());
    for (int i = 0; i < 10; ++i)
      if (e.submit([&] { runs.fetch_add(1); }) != submit_result::accepted) std::abort();
  }) == submit_result::accepted);
  e.drain();
  CHECK(runs == 10);
}

TEST_CASE("blocking: when no spare thread is left the worker blocks itself, others take its work, and "
          "nothing is lost") {
  profile p = small_profile(2);
  p.blocking.spares_max = 0;
  engine e(p);
  gate held;
  std::atomic<int> runs{0};
  CHECK(e.submit([&] {
    for (int i = 0; i < 50; ++i)
      if (e.submit([&] {
            runs.fetch_add(1);
            runs.notify_all();
          }) != submit_result::accepted)
        std::abort();
    blocking([&] { held.pass(); });
  }) == submit_result::accepted);
  held.wait_for(1);
  for (int now = runs.load(); now < 50; now = runs.load()) runs.wait(now);
  held.open();
  e.drain();
  CHECK(runs == 50);
}

TEST_CASE("blocking: a call inside another is part of it, with and without a spare thread") {
  for (const std::uint32_t spares : {0U, 4U}) {
    profile p = small_profile(2);
    p.blocking.spares_max = spares;
    engine e(p);
    std::atomic<int> ended{0};
    for (int i = 0; i < 200; ++i)
      CHECK(e.submit([&] {
        blocking([&] { blocking([] { std::this_thread::yield(); }); });
        blocking([] {});
        ended.fetch_add(1);
      }) == submit_result::accepted);
    e.drain();
    CHECK(ended == 200);
    CHECK(e.metrics().waiting() == 0);
  }
}

TEST_CASE("blocking: many calls at once use no more spare threads than allowed, and every task ends") {
  profile p = small_profile(4);
  p.blocking.spares_max = 8;
  engine e(p);
  std::atomic<int> ended{0};
  std::atomic<int> at_once{0};
  std::atomic<int> most{0};
  for (int i = 0; i < 300; ++i)
    CHECK(e.submit([&] {
      blocking([&] {
        const int now = at_once.fetch_add(1) + 1;
        for (int seen = most.load(); seen < now && !most.compare_exchange_weak(seen, now);) {
        }
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
        at_once.fetch_sub(1);
      });
      ended.fetch_add(1);
    }) == submit_result::accepted);
  e.drain();
  CHECK(ended == 300);
  CHECK(most <= 12);
  CHECK(e.metrics().spare_threads <= 8);
}

TEST_CASE("blocking: spare threads leave after their keep-alive") {
  profile p = small_profile(1);
  p.blocking.keep_alive = std::chrono::milliseconds{5};
  engine e(p);
  CHECK(e.submit([] { blocking([] {}); }) == submit_result::accepted);
  e.drain();
  for (int i = 0; i < 2000 && e.metrics().spare_threads != 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  CHECK(e.metrics().spare_threads == 0);
}
