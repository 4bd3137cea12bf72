// Daemons: what waits for them, and what counts them.

#include "small_engine.hpp"
#include "within.hpp"

#include <corewise/engine/channel.hpp>
#include <corewise/engine/deadline.hpp>
#include <corewise/engine/event.hpp>
#include <corewise/engine/sleep.hpp>
#include <corewise/engine/when_all.hpp>
#include <corewise/engine/yield.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <random>
#include <thread>

using namespace corewise;
using namespace std::chrono_literals;

namespace {

constexpr hint as_daemon{.daemon = true};

task<> wait_for(event& e) { co_await e.wait(); }

} // namespace

TEST_CASE("daemon: a drain does not wait for it, in each way to submit it, but for what it submits") {
  gate held;
  event over;
  engine e(small_profile(4));
  std::atomic<int> handled{0};
  channel<int> requests(100);
  const auto serve = [&]() -> task<> {
    while (const auto r = co_await requests.receive())
      REQUIRE(e.submit([&] {
        std::this_thread::sleep_for(1ms);
        handled.fetch_add(1);
      }) == submit_result::accepted);
  };
  REQUIRE(e.submit(serve(), as_daemon) == submit_result::accepted);
  REQUIRE(e.submit([&held] { held.pass(); }, as_daemon) == submit_result::accepted);
  REQUIRE(e.try_submit([&held] { blocking([&] { held.pass(); }); }, as_daemon) == submit_result::accepted);
  REQUIRE(e.submit([]() -> task<> { co_await sleep_for(1h); }(), {.deadline = from_now(1h), .daemon = true},
                   [] {}) == submit_result::accepted);
  REQUIRE(e.submit_or([&held] { held.pass(); }, [](auto&&, submit_result) {}, as_daemon) ==
          submit_result::accepted);
  future<void> both =
      e.run([](event& until) -> task<> { co_await when_all(wait_for(until), wait_for(until)); }(over),
            {.name = "both", .daemon = true});
  held.wait_for(3);
  e.drain();
  CHECK(e.metrics().daemons == 6);
  CHECK(e.metrics().in_flight() == 0);
  for (int i = 0; i < 50; ++i) CHECK(requests.try_send(int{i}));
  while (handled == 0) std::this_thread::yield(); // the daemon has begun
  while (requests.try_receive()) {
  }
  e.drain();
  CHECK(within(
      10s, [&] { return e.metrics().in_flight() == 0; })); // the daemon may have had one more in its hands
  over.set();
  both.get();
  held.open();
  requests.close();
  while (e.metrics().daemons != 1) std::this_thread::yield();
  CHECK(e.shutdown(10ms).dropped == 1); // the one that sleeps
}

TEST_CASE("daemon: a drain ends while a daemon that never pauses submits without end") {
  engine e(small_profile(2));
  std::atomic<std::uint64_t> submitted{0};
  const std::stop_token stop = e.stop_token();
  REQUIRE(e.submit(
              [&] {
                while (!stop.stop_requested()) {
                  if (e.submit([] {}) == submit_result::accepted) submitted.fetch_add(1);
                  std::this_thread::sleep_for(100us);
                }
              },
              as_daemon) == submit_result::accepted);
  for (int i = 0; i < 20; ++i) {
    const std::uint64_t before = submitted;
    e.drain();
    while (submitted == before) std::this_thread::yield();
  }
  CHECK(e.shutdown(60s).clean());
  CHECK(e.metrics().daemons == 0);
  CHECK(e.metrics().submitted == submitted);
  CHECK(e.metrics().finished == submitted);
}

TEST_CASE("daemon: limits do not count it, and its own submissions and calls are counted") {
  profile p = small_profile(2);
  p.limits.in_flight = 1;
  p.limits.on_full = full_action::reject;
  event over;
  gate held;
  engine e(p);
  for (int i = 0; i < 5; ++i) REQUIRE(e.submit(wait_for(over), as_daemon) == submit_result::accepted);
  REQUIRE(e.submit([&held] { held.pass(); }) == submit_result::accepted);
  CHECK(e.submit([] {}) == submit_result::full);
  CHECK(e.submit(wait_for(over), as_daemon) == submit_result::accepted);
  held.open();
  e.drain();
  gate full;
  std::atomic<int> first{-1};
  std::atomic<int> second{-1};
  REQUIRE(e.submit(
              [&] {
                first = static_cast<int>(e.submit([&] { full.pass(); }));
                second = static_cast<int>(e.submit([] {}));
              },
              as_daemon) == submit_result::accepted);
  while (second < 0) std::this_thread::yield();
  CHECK(first == static_cast<int>(submit_result::accepted));
  CHECK(second == static_cast<int>(submit_result::full));
  full.open();
  e.drain();
  over.set();
  while (e.metrics().daemons != 0) std::this_thread::yield();
  for (int i = 0; i < 3; ++i) { // the limit has as much room as before
    gate last;
    REQUIRE(e.submit([&] { last.pass(); }) == submit_result::accepted);
    CHECK(e.submit([] {}) == submit_result::full);
    last.open();
    e.drain();
  }
}

TEST_CASE(
    "daemon: a shutdown asks it to stop when all other tasks have ended, and waits until its deadline") {
  engine e(small_profile(2));
  std::atomic<bool> task_ended{false};
  std::atomic<bool> in_order{false};
  const std::stop_token stop = e.stop_token();
  const auto last = [&]() -> task<> {
    while (!stop.stop_requested()) co_await sleep_for(1ms);
    in_order = task_ended.load();
    co_await yield();
  };
  REQUIRE(e.submit(last(), as_daemon) == submit_result::accepted);
  REQUIRE(e.submit([&] {
    std::this_thread::sleep_for(20ms);
    task_ended = true;
  }) == submit_result::accepted);
  CHECK(e.shutdown(60s, 60s).clean());
  CHECK(in_order);
  CHECK(e.submit([] {}, as_daemon) == submit_result::stopping);
}

TEST_CASE("daemon: calls that it sets for later come as from outside") {
  engine e(small_profile(2));
  std::atomic<int> beats{0};
  REQUIRE(e.submit([&] { static_cast<void>(e.every(1ms, [&] { beats.fetch_add(1); })); }, as_daemon) ==
          submit_result::accepted);
  while (beats < 3) std::this_thread::yield();
  e.drain();
  CHECK(e.metrics().daemons == 0);
  CHECK(e.shutdown(10s).running.empty());
}

TEST_CASE("daemon: tasks, daemons and drains at random lose nothing") {
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  std::atomic<std::uint64_t> ran{0};
  std::uint64_t submitted = 0;
  {
    engine e(small_profile(8));
    std::minstd_rand random(seed);
    for (int i = 0; i < 3'000; ++i) {
      const hint wish{.name = random() % 4 == 0 ? "named" : nullptr, .daemon = random() % 2 == 0};
      submitted += 2;
      REQUIRE(e.submit(
                  [](engine& on, std::atomic<std::uint64_t>& n, bool waits) -> task<> {
                    if (waits) co_await yield();
                    if (on.submit([&n] { n.fetch_add(1); }) == submit_result::accepted) n.fetch_add(1);
                  }(e, ran, random() % 2 == 0),
                  wish) == submit_result::accepted);
      if (random() % 500 == 0) {
        e.drain();
        while (e.metrics().daemons != 0) std::this_thread::yield();
        e.drain();
        CHECK(ran == submitted);
      }
    }
    CHECK(e.shutdown(60s).clean());
    CHECK(e.metrics().in_flight() == 0);
  }
  CHECK(ran == submitted);
}

TEST_CASE("daemon: its deadlines hold while the engine shuts down, and while the engine is full") {
  profile p = small_profile(2);
  p.limits.in_flight = 1;
  engine e(p);
  event never;
  std::atomic<int> ended{0};
  const auto waits = [&](bool told_first) -> task<> {
    event told;
    const std::stop_callback on_stop(e.stop_token(), [&] { told.set(); });
    if (told_first) co_await told.wait();
    co_await with_deadline(20ms, [&](std::stop_token until) -> task<> { co_await never.wait(until); });
    ended.fetch_add(1);
  };
  gate held;
  REQUIRE(e.submit([&] { held.pass(); }) == submit_result::accepted);
  held.wait_for(1);
  REQUIRE(e.submit(waits(false), as_daemon) == submit_result::accepted);
  CHECK(within(10s, [&] { return ended.load() == 1; }));
  held.open();
  e.drain();
  CHECK(e.submit([] {}) == submit_result::accepted); // the deadline counts for no task
  e.drain();
  REQUIRE(e.submit(waits(true), as_daemon) == submit_result::accepted);
  CHECK(e.shutdown(10s).clean());
  CHECK(ended.load() == 2);
}
