// Later calls: `after` and `every`.
//
// The tests set no upper limit for times: the machine may be busy. A test that hangs has lost a timer.

#include "child_process.hpp"
#include "sleepers.hpp"
#include "small_engine.hpp"
#include "token.hpp"

#include <corewise/engine/engine.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

using namespace corewise;
using namespace corewise::tests;
using namespace std::chrono_literals;

TEST_CASE("timers: after calls once, cancel prevents it, and drain waits for neither") {
  std::atomic<int> called{0};
  engine e(small_profile(2));
  timer never = e.after(24h, [&] { called.store(1000); });
  REQUIRE(never);
  e.drain();
  const auto begin = clock_type::now();
  timer soon = e.after(2ms, [&] { called.fetch_add(1), called.notify_all(); });
  wait_for(called, 1);
  CHECK(clock_type::now() - begin >= 2ms);
  CHECK_FALSE(soon.cancel());
  CHECK(never.cancel());
  CHECK_FALSE(never.cancel());
  CHECK_FALSE(timer().cancel());
  CHECK(e.metrics().timers_pending == 0);
  CHECK(called == 1);
}

TEST_CASE("timers: the function of a later call lives as long as it may be called") {
  std::atomic<int> alive{0};
  timer kept;
  {
    engine e(small_profile(1));
    {
      timer gone = e.after(24h, [t = token(alive)] {});
      CHECK(alive == 1);
      CHECK(gone.cancel());
    }
    CHECK(alive == 0);
    kept = e.after(24h, [t = token(alive), large = std::array<char, 1000>{}] { static_cast<void>(large); });
  }
  CHECK(alive == 1);
  CHECK_FALSE(kept.cancel()); // the engine has dropped it
  kept = {};
  CHECK(alive == 0);
}

TEST_CASE("timers: when a cancellation and an expiry meet, exactly one happens") {
  const std::uint64_t seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  std::atomic<int> alive{0};
  std::atomic<int> called{0};
  int cancelled = 0;
  constexpr int rounds = 200;
  constexpr int calls = 50;
  {
    engine e(small_profile(3));
    for (int round = 0; round < rounds; ++round) {
      std::vector<timer> timers;
      for (int i = 0; i < calls; ++i)
        timers.push_back(
            e.after(std::chrono::nanoseconds(random() % 200'000), [&, t = token(alive)] { ++called; }));
      const auto until = clock_type::now() + std::chrono::nanoseconds(random() % 200'000);
      while (clock_type::now() < until) {
      }
      for (timer& t : timers) cancelled += t.cancel() ? 1 : 0;
    }
    while (called + cancelled < rounds * calls) std::this_thread::yield();
    e.drain();
  }
  CHECK(called + cancelled == rounds * calls);
  CHECK(alive == 0);
}

TEST_CASE("timers: a stop cancels a call and destroys its function, with or without a handle") {
  const auto held = std::make_shared<int>(0);
  std::atomic<int> calls{0};
  std::stop_source source;
  engine e(small_profile(2));
  {
    const timer kept = e.after(24h, [held, &calls] { ++calls; }, source.get_token());
    static_cast<void>(e.after(24h, [held, &calls] { ++calls; }, source.get_token()));
    static_cast<void>(e.every(24h, [held, &calls] { ++calls; }, source.get_token()));
    static_cast<void>(e.after(1us, [held, &calls] { ++calls; }, std::stop_token{})); // it never stops
    CHECK(kept);
    while (calls < 1) std::this_thread::yield();
    wait_for_pending(e, 3);
    source.request_stop();
    CHECK(e.metrics().timers_pending == 0);
    timer late = e.after(1us, [held, &calls] { ++calls; }, source.get_token());
    CHECK(late);
    CHECK(!late.cancel()); // it is cancelled already
  }
  e.drain();
  while (held.use_count() != 1) std::this_thread::yield(); // the worker lets go of the call that it made
  CHECK(e.shutdown(60s).clean());
  CHECK(calls == 1);
}

TEST_CASE("timers: a call of every stops itself, and a stop comes too late for an engine that has ended") {
  std::stop_source source;
  std::atomic<int> calls{0};
  engine e(small_profile(1));
  const timer beats = e.every(
      1ms,
      [&] {
        if (calls.fetch_add(1) == 2) source.request_stop();
      },
      source.get_token());
  while (e.metrics().timers_pending != 0 || calls != 3) std::this_thread::yield();
  CHECK(e.shutdown(60s).clean());
  CHECK(calls == 3);
  CHECK_THROWS_AS(static_cast<void>(e.every(0ns, [] {}, source.get_token())), std::invalid_argument);

  std::stop_source later;
  timer outlives;
  {
    engine short_lived(small_profile(1));
    outlives = short_lived.after(24h, [&] { ++calls; }, later.get_token());
  }
  later.request_stop();
  CHECK(!outlives.cancel());
  CHECK(calls == 3);
}

TEST_CASE("timers: when a stop and an expiry meet, exactly one happens, and nothing is left") {
  constexpr int rounds = 2000;
  const auto held = std::make_shared<int>(0);
  std::atomic<int> calls{0};
  int stopped_first = 0;
  engine e(small_profile(2));
  for (int i = 0; i < rounds; ++i) {
    std::stop_source source;
    std::atomic<int> here{0};
    timer t = e.after(
        std::chrono::microseconds(i % 50),
        [&calls, &here, held] {
          ++here;
          ++calls;
        },
        source.get_token());
    if (i % 2 == 0) t = {};
    if (i % 3 == 0) std::this_thread::yield();
    source.request_stop();
    e.drain(); // a call that has begun has ended now
    stopped_first += here == 0 ? 1 : 0;
  }
  CHECK(e.shutdown(60s).clean());
  CHECK(calls + stopped_first == rounds);
  CHECK(held.use_count() == 1);
}

TEST_CASE("timers: every keeps to its beats, and skips those that it cannot keep") {
  engine e(small_profile(2));
  std::atomic<int> beats{0};
  const auto begin = clock_type::now();
  timer t = e.every(1ms, [&] { beats.fetch_add(1), beats.notify_all(); });
  wait_for(beats, 20);
  CHECK(t.cancel());
  // The n-th call is at its n-th beat or a later one: calls never run ahead, and each beat left out is
  // counted.
  e.drain();
  const auto elapsed = clock_type::now() - begin;
  CHECK(elapsed >= 20ms);
  const auto seen = static_cast<std::uint64_t>(beats.load()) + t.skipped();
  CHECK(seen <= static_cast<std::uint64_t>(elapsed / 1ms) + 1);
}

TEST_CASE("timers: every does not drift, although calls are late") {
  engine e(small_profile(1));
  constexpr auto period = 2ms;
  std::atomic<int> beats{0};
  clock_type::time_point last_call;
  timer t = e.every(period, [&] {
    last_call = clock_type::now();
    // Hold the one worker beyond the next beat. So that beat comes late by at least half a period.
    CHECK(e.submit([until = last_call + period * 3 / 2] {
      while (clock_type::now() < until) {
      }
    }) == submit_result::accepted);
    beats.fetch_add(1), beats.notify_all();
  });
  const auto set_before = clock_type::now();
  wait_for(beats, 20);
  CHECK(t.cancel());
  e.drain();
  // The schedule is n periods after `every`: up to the last call, each beat was called or is counted. Late
  // calls do not reduce that sum, so this holds on any machine. If each beat were counted from the call
  // before, calls as late as these would leave a quarter fewer.
  const auto seen = static_cast<std::uint64_t>(beats.load()) + t.skipped();
  CHECK(seen >= static_cast<std::uint64_t>((last_call - set_before) / period));
}

TEST_CASE("timers: beats that pass while a call runs are counted and skipped") {
  engine e(small_profile(2));
  std::atomic<int> beats{0};
  std::atomic<int> at_once{0};
  std::atomic<int> most_at_once{0};
  timer t = e.every(1ms, [&] {
    const int now = at_once.fetch_add(1) + 1;
    if (now > most_at_once) most_at_once = now;
    const auto until = clock_type::now() + 5ms;
    while (clock_type::now() < until) {
    }
    at_once.fetch_sub(1);
    beats.fetch_add(1);
    beats.notify_all();
  });
  wait_for(beats, 5);
  CHECK(t.cancel());
  e.drain();
  CHECK(most_at_once == 1);
  CHECK(t.skipped() >= 4 * 4); // those of the last call may not be counted yet
}

TEST_CASE("timers: a call of every cancels itself") {
  engine e(small_profile(2));
  std::atomic<int> beats{0};
  std::atomic<bool> result{false};
  std::atomic<bool> have_handle{false};
  timer t;
  t = e.every(100us, [&] {
    have_handle.wait(false);
    if (beats.fetch_add(1) + 1 != 3) return;
    result = t.cancel();
    beats.notify_all();
  });
  have_handle = true;
  have_handle.notify_all();
  wait_for(beats, 3);
  e.drain();
  CHECK(result);
  CHECK(e.metrics().timers_pending == 0);
  CHECK(beats == 3);
}

TEST_CASE("timers: an exception ends one call, and the beats go on") {
  profile p = small_profile(1);
  p.on_exception = exception_action::report;
  engine e(p);
  std::atomic<int> beats{0};
  timer t = e.every(200us, [&] {
    beats.fetch_add(1);
    beats.notify_all();
    throw std::runtime_error("no");
  });
  wait_for(beats, 3);
  CHECK(t.cancel());
  e.drain();
  CHECK(e.metrics().failed == static_cast<std::uint64_t>(beats.load()));
}

TEST_CASE("timers: a period that is not above 0 is an error") {
  engine e(small_profile(1));
  CHECK_THROWS_AS(static_cast<void>(e.every(0s, [] {})), std::invalid_argument);
  CHECK_THROWS_AS(static_cast<void>(e.every(-1s, [] {})), std::invalid_argument);
}

namespace {

/// An engine that has room for one task, which stays until the gate opens.
struct full_engine {
  gate held;
  engine e{[] {
    profile p = small_profile(2);
    p.limits.in_flight = 1;
    return p;
  }()};

  full_engine() {
    REQUIRE(e.submit([this] { held.pass(); }) == submit_result::accepted);
    held.wait_for(1);
  }
  ~full_engine() { held.open(); }
};

} // namespace

TEST_CASE("timers: a later call that finds the engine full waits for room, and a beat is skipped") {
  full_engine full;
  engine& e = full.e;
  std::atomic<int> called{0};
  std::atomic<int> beats{0};
  const timer once = e.after(1ms, [&] { called.fetch_add(1), called.notify_all(); });
  timer often = e.every(1ms, [&] { beats.fetch_add(1), beats.notify_all(); });
  while (often.skipped() < 8) std::this_thread::yield();
  CHECK(called == 0);
  CHECK(beats == 0);
  full.held.open();
  wait_for(called, 1);
  wait_for(beats, 1);
  CHECK(often.cancel());
  e.drain();
}

TEST_CASE("timers: a call within a blocking region sets its timer like a thread outside") {
  std::atomic<int> called{0};
  engine e(small_profile(1));
  REQUIRE(e.submit([&] {
    blocking([&] { static_cast<void>(e.after(100us, [&] { called.fetch_add(1), called.notify_all(); })); });
  }) == submit_result::accepted);
  wait_for(called, 1);
}

TEST_CASE("timers: in the child of a process fork no timer is set, and cancelling does nothing") {
  engine e(small_profile(1));
  timer t = e.after(24h, [] {});
  REQUIRE(t);
  const pid_t child = tests::child_that([&] {
    const bool ok = !e.after(1ms, [] {}) && !t.cancel();
    std::_Exit(ok ? 0 : 1);
  });
  CHECK(tests::exit_status(child) == 0);
  CHECK(t.cancel());
}

TEST_CASE("timers: a call that waits for room counts once as fired, and as late since it was due") {
  constexpr int calls = 100;
  full_engine full;
  engine& e = full.e;
  std::atomic<int> called{0};
  std::vector<timer> all;
  for (int i = 0; i < calls; ++i)
    all.push_back(e.after(0ms, [&] { called.fetch_add(1), called.notify_all(); }));
  timer beats = e.every(1ms, [] {}); // which finds no room either
  while (beats.skipped() < 30) std::this_thread::yield();
  CHECK(beats.cancel());
  const std::uint64_t fired = e.metrics().timers_fired;
  CHECK(fired >= calls + 1);
  full.held.open();
  wait_for(called, calls);
  e.drain();
  const metrics_snapshot m = e.metrics();
  CHECK(m.timers_fired == fired);
  CHECK(m.total().timers_late.sum >= calls * 20ms); // each one since it was due, not since it was tried last
}
