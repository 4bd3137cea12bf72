// Timers fire, whatever the workers do meanwhile.
//
// The tests set no upper limit for times: the machine may be busy. A test that hangs has lost a timer.

#include "sleepers.hpp"
#include "small_engine.hpp"
#include "within.hpp"

#include <corewise/engine/engine.hpp>
#include <corewise/engine/sleep.hpp>
#include <corewise/engine/yield.hpp>

#include <doctest/doctest.h>

#include <random>
#include <thread>

using namespace corewise;
using namespace corewise::tests;
using namespace std::chrono_literals;

TEST_CASE("timers: a coroutine sleeps as long as it asks for, and drain waits for it") {
  for (const std::uint32_t workers : {1U, 2U, 5U}) {
    engine e(small_profile(workers));
    std::atomic<int> done{0};
    std::atomic<int> early{0};
    for (int i = 0; i < 200; ++i)
      REQUIRE(e.submit(sleep_and_count(std::chrono::microseconds(i * 100), done, early)) ==
              submit_result::accepted);
    e.drain();
    CHECK(done == 200);
    CHECK(early == 0);
    const metrics_snapshot m = e.metrics();
    CHECK(m.in_flight() == 0);
    CHECK(m.timers_pending == 0);
    CHECK(m.timers_fired == 199); // the sleep of 0 us suspended no task
    CHECK(m.total().rescued_by_timeout == 0);
  }
}

TEST_CASE("timers: they fire under every profile, also without stealing and without time-outs of sleepers") {
  for (const char* file : {"default", "latency", "throughput", "tokio", "nio", "volt", "zio",
                           "zio-least-loaded", "global-queue", "local-only", "activity"}) {
    CAPTURE(file);
    profile p = load_profile(std::string(COREWISE_SOURCE_DIR "/configs/") + file + ".yaml");
    p.workers.total = 3;
    p.workers.per_group.reset();
    p.workers.pin = pin_to::none;
    for (const bool never : {false, true}) {
      if (never) p.idle.park_timeout = {park_timeout_setting::mode::never, {}};
      std::atomic<int> done{0};
      std::atomic<int> early{0};
      engine e(p);
      for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 20; ++i)
          REQUIRE(e.submit(sleep_and_count(std::chrono::microseconds(i * 400), done, early)) ==
                  submit_result::accepted);
        e.drain();
        const timer call = e.after(2ms, [&] { done.fetch_add(1), done.notify_all(); });
        wait_for(done, (round + 1) * 21);
      }
      CHECK(early == 0);
      CHECK(e.metrics().total().rescued_by_timeout == 0);
    }
  }
}

TEST_CASE("timers: an idle engine with several groups fires the timers of each of them") {
  engine e(two_package_profile(2));
  std::atomic<int> done{0};
  std::atomic<int> early{0};
  for (int round = 0; round < 30; ++round) {
    for (std::uint32_t w = 0; w < e.workers().size(); ++w)
      REQUIRE(e.submit(sleep_and_count(1ms + round * 50us, done, early), {.worker = worker_id{w}}) ==
              submit_result::accepted);
    e.drain();
  }
  CHECK(done == 30 * static_cast<int>(e.workers().size()));
  CHECK(early == 0);
}

TEST_CASE("timers: an earlier timer wakes the worker that sleeps until a later one") {
  std::atomic<int> called{0};
  engine e(small_profile(2));
  timer late = e.after(24h, [&] { called.store(1000); });
  wait_for_pending(e, 1);
  for (int i = 1; i <= 50; ++i) {
    std::this_thread::sleep_for(200us); // so that the workers mostly fall asleep
    const timer soon = e.after(100us, [&] { called.fetch_add(1), called.notify_all(); });
    wait_for(called, i);
  }
  CHECK(called == 50);
  CHECK(late.cancel());
}

TEST_CASE("timers: due timers fire while every worker runs tasks without end") {
  engine e(small_profile(2));
  std::atomic<bool> over{false};
  const auto spin = [](std::atomic<bool>& stop) -> task<> {
    while (!stop) co_await yield();
  };
  for (int i = 0; i < 8; ++i) REQUIRE(e.submit(spin(over)) == submit_result::accepted);
  std::atomic<int> done{0};
  std::atomic<int> early{0};
  for (int i = 0; i < 20; ++i)
    REQUIRE(e.submit([](std::atomic<int>& d, std::atomic<int>& n) -> task<> {
      co_await sleep_and_count(2ms, d, n);
      d.notify_all();
    }(done, early)) == submit_result::accepted);
  wait_for(done, 20);
  over = true;
  e.drain();
  CHECK(early == 0);
}

TEST_CASE("timers: a worker in a long task does not hold up its neighbour's timers") {
  gate held;
  std::atomic<int> done{0};
  std::atomic<int> early{0};
  engine e(two_package_profile(1));
  // All workers of one group are busy, and its timer fires nevertheless.
  REQUIRE(e.submit([&] { held.pass(); }, {.worker = worker_id{0}}) == submit_result::accepted);
  held.wait_for(1);
  const timer call = e.after(1ms, [&] { done.fetch_add(1), done.notify_all(); });
  REQUIRE(e.submit(sleep_and_count(1ms, done, early), {.worker = worker_id{1}}) == submit_result::accepted);
  wait_for_pending(e, 0);
  held.open();
  e.drain();
  wait_for(done, 2);
  CHECK(early == 0);
}

TEST_CASE("timers: coroutines that sleep in a class go on in it") {
  engine e(small_profile(2));
  std::atomic<int> done{0};
  std::atomic<int> early{0};
  for (const task_class c : {task_class::latency, task_class::background})
    for (int i = 0; i < 20; ++i)
      REQUIRE(e.submit(sleep_and_count(1ms, done, early), {.run_as = c}) == submit_result::accepted);
  e.drain();
  CHECK(done == 40);
  CHECK(e.metrics().total().latency_runs == 40); // each runs twice: before and after its sleep
  CHECK(e.metrics().total().background_runs == 40);
}

TEST_CASE("timers: they fire while workers retire and come back") {
  profile p = small_profile(4);
  engine e(p);
  std::atomic<int> done{0};
  std::atomic<int> early{0};
  for (int round = 0; round < 30; ++round) {
    for (int i = 0; i < 20; ++i)
      REQUIRE(e.submit(sleep_and_count(std::chrono::microseconds(i * 50), done, early)) ==
              submit_result::accepted);
    p.workers.total = round % 2 == 0 ? 1 : 4;
    REQUIRE(e.apply(p).applied());
  }
  e.drain();
  CHECK(done == 30 * 20);
  CHECK(early == 0);
}

TEST_CASE("timers: many sleepers with deadlines of all distances come back, each once") {
  const std::uint64_t seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  engine e(small_profile(3));
  std::atomic<int> done{0};
  std::atomic<int> early{0};
  constexpr int sleepers = 20'000;
  for (int i = 0; i < sleepers; ++i)
    REQUIRE(e.submit(sleep_and_count(std::chrono::nanoseconds(random() % 300'000'000), done, early)) ==
            submit_result::accepted);
  e.drain();
  CHECK(done == sleepers);
  CHECK(early == 0);
  CHECK(e.metrics().timers_fired <= sleepers);
}

TEST_CASE("timers: those of a group without workers fire while the workers of other groups never rest") {
  profile p = two_package_profile(1);
  p.workers.per_group.reset();
  p.workers.total = 1;
  std::atomic<bool> over{false};
  std::atomic<int> fired{0};
  const auto busy = [&]() -> task<> {
    while (!over) co_await yield();
  };
  engine e(p);
  REQUIRE(e.groups().size() == 2);
  for (int i = 0; i < 2; ++i) REQUIRE(e.submit(busy()) == submit_result::accepted);
  constexpr int number = 16; // each thread has one of the groups as its own
  for (int i = 0; i < number; ++i)
    std::thread([&] { static_cast<void>(e.after(1ms, [&] { ++fired; })); }).join();
  CHECK(within(20s, [&] { return fired == number; }));
  over = true;
}
