#include "child_process.hpp"
#include "fire_and_forget.hpp"
#include "small_engine.hpp"
#include "token.hpp"

#include <corewise/engine/deadline.hpp>
#include <corewise/engine/engine.hpp>
#include <corewise/engine/oneshot.hpp>
#include <corewise/engine/sleep.hpp>
#include <corewise/engine/yield.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

using namespace corewise;
using namespace std::chrono_literals;

// The tests set no upper limit for times: the machine may be busy. A test that hangs has lost a timer.

namespace {

using clock_type = std::chrono::steady_clock;

task<> sleep_and_count(std::chrono::nanoseconds d, std::atomic<int>& done, std::atomic<int>& early) {
  const auto begin = clock_type::now();
  co_await sleep_for(d);
  if (clock_type::now() < begin + d) ++early;
  ++done;
}

task<> sleep_until_stopped(std::stop_token token, std::atomic<int>& came, std::atomic<int>& stopped) {
  // Not in the condition of the `if`: GCC 12 loses the body of some such coroutines.
  const bool in_time = co_await sleep_for(24h, std::move(token));
  ++(in_time ? came : stopped);
}

void wait_for(const std::atomic<int>& n, int least) {
  for (int now = n.load(); now < least; now = n.load()) n.wait(now);
}

/// Waits until this many timers are set.
void wait_for_pending(const engine& e, std::uint64_t timers) {
  while (e.metrics().timers_pending != timers) std::this_thread::yield();
}

} // namespace

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

TEST_CASE("timers: a sleep until a past time does not suspend") {
  engine e(small_profile(1));
  std::atomic<int> steps{0};
  REQUIRE(e.submit([](std::atomic<int>& n) -> task<> {
    co_await sleep_for(0s);
    co_await sleep_for(-1h);
    co_await sleep_until(clock_type::now());
    co_await sleep_until(clock_type::time_point::min());
    std::stop_source stop;
    if (co_await sleep_for(0s, stop.get_token())) ++n;
  }(steps)) == submit_result::accepted);
  e.drain();
  CHECK(steps == 1);
  CHECK(e.metrics().timers_fired == 0);
}

TEST_CASE("timers: the longest sleep does not overflow, and a stop ends it") {
  engine e(small_profile(1));
  std::stop_source stop;
  std::atomic<int> stopped{0};
  const auto body = [](std::stop_token token, std::atomic<int>& n) -> task<> {
    if (!co_await sleep_for(std::chrono::nanoseconds::max(), token)) ++n;
    if (!co_await sleep_until(clock_type::time_point::max(), token)) ++n;
  };
  REQUIRE(e.submit(body(stop.get_token(), stopped)) == submit_result::accepted);
  wait_for_pending(e, 1);
  stop.request_stop();
  e.drain();
  CHECK(stopped == 2); // the second sleep did not begin
  CHECK(e.metrics().timers_cancelled == 1);
}

TEST_CASE("timers: a stop from outside and one from another task end sleeps") {
  engine e(small_profile(2));
  std::atomic<int> came{0};
  std::atomic<int> stopped{0};
  std::stop_source first;
  std::stop_source second;
  for (int i = 0; i < 100; ++i)
    for (const std::stop_source* s : {&first, &second})
      REQUIRE(e.submit(sleep_until_stopped(s->get_token(), came, stopped)) == submit_result::accepted);
  wait_for_pending(e, 200);
  first.request_stop();
  REQUIRE(e.submit([&] { second.request_stop(); }) == submit_result::accepted);
  e.drain();
  CHECK(stopped == 200);
  CHECK(came == 0);
}

TEST_CASE("timers: when a stop and a timer meet, exactly one ends the sleep") {
  const std::uint64_t seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  engine e(small_profile(3));
  std::atomic<int> came{0};
  std::atomic<int> stopped{0};
  constexpr int rounds = 300;
  constexpr int sleepers = 30;
  const auto sleeper = [](std::chrono::nanoseconds d, std::stop_token token, std::atomic<int>& in_time,
                          std::atomic<int>& before) -> task<> {
    const bool slept = co_await sleep_for(d, token);
    ++(slept ? in_time : before);
  };
  for (int round = 0; round < rounds; ++round) {
    std::stop_source stop;
    for (int i = 0; i < sleepers; ++i)
      REQUIRE(e.submit(sleeper(std::chrono::nanoseconds(random() % 300'000), stop.get_token(), came,
                               stopped)) == submit_result::accepted);
    const auto until = clock_type::now() + std::chrono::nanoseconds(random() % 300'000);
    while (clock_type::now() < until) {
    }
    stop.request_stop();
    if (round % 10 == 0) e.drain();
  }
  e.drain();
  CHECK(came + stopped == rounds * sleepers);
  CHECK(e.metrics().timers_pending == 0);
}

TEST_CASE("timers: outside of an engine the thread sleeps, and a stop ends that sleep as well") {
  bool came = false;
  bool stopped = false;
  const auto begin = clock_type::now();
  std::stop_source stop;
  std::thread stopper;
  [](bool& in_time, bool& before, std::stop_source& source, std::thread& other) -> fire_and_forget {
    in_time = co_await sleep_for(3ms, source.get_token());
    other = std::thread([&] { source.request_stop(); });
    before = !co_await sleep_for(24h, source.get_token());
  }(came, stopped, stop, stopper);
  stopper.join();
  CHECK(came);
  CHECK(stopped);
  CHECK(clock_type::now() >= begin + 3ms);
}

TEST_CASE("timers: shutdown destroys sleeping coroutines and later calls") {
  std::atomic<int> alive{0};
  std::atomic<int> done{0};
  engine e(small_profile(2));
  const auto sleeper = [](token, std::atomic<int>& n) -> task<> {
    co_await [](std::atomic<int>& inner) -> task<> {
      co_await sleep_for(24h);
      ++inner;
    }(n);
  };
  for (int i = 0; i < 10; ++i) REQUIRE(e.submit(sleeper(token(alive), done)) == submit_result::accepted);
  std::stop_source stop;
  std::atomic<int> came{0};
  std::atomic<int> stopped{0};
  REQUIRE(e.submit(sleep_until_stopped(stop.get_token(), came, stopped)) == submit_result::accepted);
  static_cast<void>(e.after(24h, [kept = token(alive), &done] { ++done; }));
  static_cast<void>(e.every(24h, [kept = token(alive), &done] { ++done; }));
  wait_for_pending(e, 13);
  const shutdown_report report = e.shutdown(5ms);
  CHECK(report.dropped == 11); // calls that were not due were no tasks yet
  CHECK(report.running.empty());
  CHECK(alive == 0);
  CHECK(done == 0);
  CHECK(e.metrics().in_flight() == 0);
  CHECK(e.metrics().timers_pending == 0);
  stop.request_stop();
  CHECK_FALSE(e.after(1ms, [] {}));
  CHECK_FALSE(e.every(1ms, [] {}));
}

TEST_CASE("timers: a shutdown waits for sleeping coroutines, up to its deadline") {
  engine e(small_profile(1));
  std::atomic<int> done{0};
  std::atomic<int> early{0};
  REQUIRE(e.submit(sleep_and_count(5ms, done, early)) == submit_result::accepted);
  CHECK(e.shutdown(1h).clean());
  CHECK(done == 1);
}

TEST_CASE("timers: a coroutine that goes to sleep while the engine ends is destroyed") {
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> alive{0};
    {
      engine e(small_profile(2));
      const auto restless = [](token) -> task<> {
        for (;;) co_await sleep_for(20us);
      };
      for (int i = 0; i < 20; ++i) REQUIRE(e.submit(restless(token(alive))) == submit_result::accepted);
      const timer beats = e.every(30us, [] {});
      const shutdown_report report = e.shutdown(1ms);
      CHECK(report.dropped >= 20);
    }
    CHECK(alive == 0);
  }
}

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

TEST_CASE("timers: a later call that finds the engine full waits for room, and a beat is skipped") {
  profile p = small_profile(2);
  p.limits.in_flight = 1;
  engine e(p);
  gate held;
  REQUIRE(e.submit([&] { held.pass(); }) == submit_result::accepted);
  held.wait_for(1);
  std::atomic<int> called{0};
  std::atomic<int> beats{0};
  const timer once = e.after(1ms, [&] { called.fetch_add(1), called.notify_all(); });
  timer often = e.every(1ms, [&] { beats.fetch_add(1), beats.notify_all(); });
  while (often.skipped() < 3 || e.metrics().timers_fired < 6) std::this_thread::yield();
  CHECK(called == 0);
  CHECK(beats == 0);
  held.open();
  wait_for(called, 1);
  wait_for(beats, 1);
  CHECK(often.cancel());
  e.drain();
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

TEST_CASE(
    "deadlines: work in time returns its value, late work is asked to stop, and its exception is thrown") {
  engine e(small_profile(2));
  std::atomic<int> right{0};
  const auto body = [](std::atomic<int>& n) -> task<> {
    const int answer = co_await with_deadline(24h, [](std::stop_token) -> task<int> {
      co_await sleep_for(100us);
      co_return 7;
    });
    n += answer == 7 ? 1 : 0;
    const bool came = co_await with_deadline(
        1ms, [](std::stop_token token) -> task<bool> { co_return co_await sleep_for(24h, token); });
    n += came ? 0 : 1;
    bool thrown = false;
    try {
      co_await with_deadline(1ms, [](std::stop_token token) -> task<> {
        const bool slept = co_await sleep_for(24h, token);
        if (!slept) throw std::runtime_error("too late");
      });
    } catch (const std::runtime_error&) {
      thrown = true;
    }
    n += thrown ? 1 : 0;
  };
  REQUIRE(e.submit(body(right)) == submit_result::accepted);
  e.drain();
  CHECK(right == 3);
  CHECK(e.metrics().timers_pending == 0); // the first deadline was cancelled
}

TEST_CASE("deadlines: a stop from outside takes precedence") {
  engine e(small_profile(2));
  std::atomic<bool> begun{false};
  const auto body = [&](std::stop_token outer) -> task<bool> {
    const auto sleeps = [&](std::stop_token token) -> task<bool> {
      begun = true;
      begun.notify_all();
      co_return co_await sleep_for(24h, std::move(token));
    };
    co_return co_await with_deadline(std::move(outer), 12h, sleeps);
  };
  std::stop_source outside;
  future<bool> came = e.run(body(outside.get_token()));
  begun.wait(false);
  outside.request_stop();
  CHECK_FALSE(came.get());
  e.drain();
  CHECK(e.metrics().timers_pending == 0);
  CHECK_FALSE(sync_wait(e, body(outside.get_token()))); // stopped before it began
}

TEST_CASE("deadlines: a task that has not ended in time is an error, and its stop source is triggered") {
  engine e(small_profile(2));
  const auto sleeps = [](std::chrono::nanoseconds d, std::stop_token token) -> task<std::unique_ptr<bool>> {
    const bool came = co_await sleep_for(d, std::move(token));
    co_return std::make_unique<bool>(came);
  };
  const auto fails = []() -> task<> {
    co_await sleep_for(2ms);
    throw std::runtime_error("its own");
  };
  const auto in_time = [&]() -> task<bool> {
    const std::unique_ptr<bool> came = co_await with_deadline(sleeps(100us, {}), 24h);
    co_return *came;
  };
  const auto late = [&]() -> task<> { co_await with_deadline(sleeps(2ms, {}), 1ms); };
  const auto told = [&]() -> task<> {
    std::stop_source stop;
    co_await with_deadline(sleeps(24h, stop.get_token()), 1ms, stop);
  };
  const auto late_and_fails = [&]() -> task<> { co_await with_deadline(fails(), 1ms); };
  CHECK(sync_wait(e, in_time()));
  CHECK_THROWS_WITH_AS(sync_wait(e, late()), "the task had not ended at its deadline", deadline_expired);
  CHECK_THROWS_AS(sync_wait(e, told()), deadline_expired);
  CHECK_THROWS_WITH_AS(sync_wait(e, late_and_fails()), "its own", std::runtime_error);
  CHECK(e.metrics().timers_pending == 0);
}

TEST_CASE("deadlines: they end tasks that a shutdown waits for, and tasks that fill the engine") {
  profile p = small_profile(1);
  p.limits.in_flight = 1;
  engine e(p);
  std::atomic<int> told{0};
  const auto body = [](std::atomic<int>& n) -> task<> {
    const bool came = co_await with_deadline(
        5ms, [](std::stop_token token) -> task<bool> { co_return co_await sleep_for(24h, token); });
    n += came ? 0 : 1;
  };
  REQUIRE(e.submit(body(told)) == submit_result::accepted);
  while (e.metrics().timers_pending != 2 && told == 0) std::this_thread::yield(); // 5 ms may pass meanwhile
  CHECK(e.shutdown(1h).clean());
  CHECK(told == 1);
}
