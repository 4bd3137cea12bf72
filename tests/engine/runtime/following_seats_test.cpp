// Tests of the seats with which an engine grows where its host allows more.

#include "following.hpp"
#include "reloading.hpp"
#include "sanitized.hpp"
#include "topology/recorded_host.hpp"

#include <corewise/engine/load.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

using namespace corewise;
using namespace corewise::tests;
using namespace std::chrono_literals;

TEST_CASE("following: an engine that began with a quota has room to grow") {
  const recorded_host host(16);
  host.quota("200000 100000");
  engine e(waiting(host));
  CHECK(active_workers(e) == 2);
  CHECK(e.dump().seats[7].state == seat_state::retired);
  CHECK(e.workers().size() == 8); // four times as many
  for (const std::uint32_t w : workers_of(e, 200)) CHECK(e.metrics().workers[w].active == 1);
  for (std::uint32_t w = 2; w < 8; ++w) CHECK(e.metrics().workers[w].placed == 0);
  gate held;
  for (int i = 0; i < 2; ++i) REQUIRE(e.submit([&] { held.pass(); }) == submit_result::accepted);
  held.wait_for(2);
  std::atomic<int> ran{0};
  for (int i = 0; i < 50; ++i) REQUIRE(e.submit([&] { ++ran; }) == submit_result::accepted);
  std::this_thread::sleep_for(20ms);
  CHECK(ran == 0); // the headroom's workers take nothing
  held.open();
  e.drain();
  host.quota("500000 100000");
  CHECK(e.refresh()->workers_now == 5);
  host.quota("max 100000");
  CHECK(e.refresh()->workers_now == 8);
  gate all; // eight tasks that wait for each other need eight workers
  for (int i = 0; i < 8; ++i) REQUIRE(e.submit([&] { all.pass(); }) == submit_result::accepted);
  all.wait_for(8);
  all.open();
  e.drain();
}

TEST_CASE("following: the headroom of the profile also serves a reload") {
  const recorded_host host(4);
  profile p = waiting(host);
  p.workers.total = 2;
  p.workers.headroom = 3;
  engine e(p);
  CHECK(active_workers(e) == 2);
  CHECK(e.apply(with_workers(p, 5)).applied());
  CHECK(active_workers(e) == 5);
  const apply_result refused = e.apply(with_workers(p, 6));
  REQUIRE_FALSE(refused.applied());
  CHECK(refused.to_text().find("there are no more until a restart (workers.headroom)") != std::string::npos);
  host.quota("100000 100000");
  CHECK(e.refresh()->workers_now == 5); // a number that the profile gives stays
}

TEST_CASE("following: headroom is no capacity for a balancer") {
  const recorded_host host(16);
  host.quota("200000 100000");
  engine e(waiting(host));
  CHECK(e.workers().size() == 8);
  load_meter meter(e);
  CHECK(meter.read().capacity == 2);
  host.quota("100000 100000");
  engine one(waiting(host));
  CHECK(one.workers().size() == 4);
  load_meter meter_of_one(one);
  CHECK(meter_of_one.read().capacity == 1);
}

TEST_CASE("following: an engine that began with one worker grows under load") {
  const recorded_host host(16);
  for (int round = 0; round < (sanitized || emulated ? 5 : 20); ++round) {
    host.quota("100000 100000");
    constexpr int rows = 400;
    constexpr int a_row = 100;
    std::atomic<int> ran{0};
    std::atomic<int> row{0};
    std::atomic<int> refused{0};
    gate all;
    engine e(waiting(host));
    REQUIRE(active_workers(e) == 1);
    REQUIRE(e.workers().size() == 4);
    const auto submit = [&](auto f) {
      if (e.submit(f) != submit_result::accepted) ++refused;
    };
    // Each row goes into the ring of the worker that runs it, and its last task makes the next one.
    const auto next_row = [&](const auto& self) -> void {
      if (++row > rows) return;
      for (int i = 1; i < a_row; ++i) submit([&] { ++ran; });
      submit([&] {
        ++ran;
        self(self);
      });
    };
    submit([&] { next_row(next_row); });
    while (row < 20 * round) std::this_thread::yield();
    host.quota("400000 100000");
    CHECK(e.refresh()->workers_now == 4);
    e.drain();
    CHECK(ran == rows * a_row);
    CHECK(refused == 0);
    // Four tasks that wait for each other, sent by one, need four workers.
    submit([&] {
      for (int i = 0; i < 4; ++i) submit([&] { all.pass(); });
    });
    all.wait_for(4);
    all.open();
    e.drain();
    host.quota("100000 100000"); // and back
    CHECK(e.refresh()->workers_now == 1);
    CHECK(e.run([] { return 7; }).get() == 7);
  }
}

TEST_CASE("following: an engine without seats for what the host allows names the key that gives some, once") {
  const recorded_host host(16);
  const auto told = [](const engine& e) {
    return std::ranges::count(e.warnings(), "the host allows more workers than the engine has seats for: "
                                            "workers.headroom in the profile gives it more seats from the "
                                            "next start on");
  };
  profile p = waiting(host);
  SUBCASE("one worker began, and has no room") {
    host.quota("100000 100000");
    p.workers.headroom = 0;
    change_log log;
    engine e(p, log.hooks());
    host.quota("50000 100000");
    CHECK(e.refresh());
    CHECK(told(e) == 0);
    for (const char* quota : {"800000 100000", "100000 100000", "max 100000"}) {
      host.quota(quota);
      CHECK(e.refresh()->workers_now == 1);
    }
    CHECK(told(e) == 1);
    const std::vector<std::string> lines = log.lines();
    REQUIRE(lines.size() == 5); // four changes, and this line behind the one to which it belongs
    CHECK(lines[1].ends_with("quota 8 CPUs, before 0.5 CPUs; still 1 workers take tasks"));
    CHECK(lines[2] == e.warnings().back());
  }
  SUBCASE("the room that two workers got is used up") {
    host.quota("200000 100000");
    engine e(p);
    host.quota("800000 100000");
    CHECK(e.refresh()->workers_now == 8);
    CHECK(told(e) == 0);
    host.quota("max 100000");
    CHECK(e.refresh());
    CHECK(told(e) == 1);
  }
  SUBCASE("the key has given some") {
    host.quota("100000 100000");
    p.workers.headroom = 3;
    engine e(p);
    host.quota("400000 100000");
    CHECK(e.refresh()->workers_now == 4);
    CHECK(told(e) == 0);
  }
  SUBCASE("a small number leaves two workers the room that they get without it, and a large one gives more") {
    host.quota("200000 100000");
    p.workers.headroom = 3;
    const engine small(p);
    CHECK(small.workers().size() == 8);
    p.workers.headroom = 14;
    engine e(p);
    CHECK(active_workers(e) == 2);
    host.quota("max 100000");
    CHECK(e.refresh()->workers_now == 16);
    CHECK(told(e) == 0);
  }
  SUBCASE("a number that the profile gives does not grow") {
    host.quota("100000 100000");
    p.workers.total = 1;
    engine e(p);
    host.quota("400000 100000");
    CHECK(e.refresh()->workers_now == 1);
    CHECK(told(e) == 0);
  }
}
