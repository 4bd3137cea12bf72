// `blocking.max_concurrent` while profiles change, at the end of the engine, and under many calls at once.

#include "small_engine.hpp"
#include "suspended.hpp"
#include "threads/limited_calls.hpp"
#include "token.hpp"

#include <corewise/engine/blocking_full.hpp>
#include <corewise/engine/detail/blocking_limit.hpp>
#include <corewise/engine/run_blocking.hpp>
#include <corewise/engine/yield.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <random>
#include <stop_token>
#include <thread>
#include <vector>

using namespace corewise;
using namespace corewise::tests;
using namespace std::chrono_literals;

namespace {

void wait_for_calls(const engine& e, std::uint64_t running, std::uint64_t waiting) {
  for (;;) {
    const metrics_snapshot m = e.metrics();
    if (m.blocking_calls_running == running && m.blocking_calls_waiting == waiting) return;
    std::this_thread::yield();
  }
}

template <class F> task<> calls_after_wait(F f, token /*held*/) { co_await run_blocking(f); }

} // namespace

TEST_CASE("blocking limit: a running engine takes a limit, another and none") {
  gate before;
  gate held;
  std::atomic<int> alive{0};
  engine e(small_profile(2));
  REQUIRE(e.submit([&] { blocking([&] { before.pass(); }); }) == submit_result::accepted);
  before.wait_for(1);
  CHECK(e.apply(limited_calls(2, 1)).applied());
  const auto submit = [&](int calls) {
    for (int i = 0; i < calls; ++i)
      REQUIRE(e.submit(calls_after_wait([&] { held.pass(); }, token(alive))) == submit_result::accepted);
  };
  submit(10);
  wait_for_calls(e, 1, 9); // the call that began without a limit has no permit
  CHECK(e.apply(limited_calls(2, 4)).applied());
  wait_for_calls(e, 4, 6);
  held.wait_for(4);
  CHECK(e.apply(limited_calls(2, 2)).applied());
  submit(1);
  wait_for_calls(e, 4, 7);
  CHECK(e.apply(limited_calls(2, 0)).applied());
  held.wait_for(11);
  wait_for_calls(e, 11, 0);
  submit(1); // not counted
  held.wait_for(12);
  before.open();
  held.open();
  e.drain();
  wait_for_calls(e, 0, 0);
  CHECK(alive == 0);
}

TEST_CASE("blocking limit: a lowered limit holds as soon as the calls above it have ended") {
  gate first;
  gate second;
  engine e(limited_calls(1, 3));
  for (int i = 0; i < 3; ++i)
    REQUIRE(e.submit([&] { blocking([&] { first.pass(); }); }) == submit_result::accepted);
  first.wait_for(3);
  CHECK(e.apply(limited_calls(1, 1)).applied());
  std::atomic<int> alive{0};
  for (int i = 0; i < 2; ++i)
    REQUIRE(e.submit(calls_after_wait([&] { second.pass(); }, token(alive))) == submit_result::accepted);
  wait_for_calls(e, 3, 2);
  first.open();
  second.wait_for(1);
  wait_for_calls(e, 1, 1);
  second.open();
  e.drain();
}

TEST_CASE("blocking limit: a reload to `throw` refuses plain calls that wait already, and no others") {
  gate held;
  std::atomic<int> alive{0};
  std::atomic<int> called{0};
  profile p = limited_calls(2, 1);
  engine e(p);
  future<void> holds = e.run([&] { blocking([&] { held.pass(); }); });
  held.wait_for(1);
  const auto call = [&] { ++called; };
  std::vector<future<void>> plain;
  for (int i = 0; i < 3; ++i) {
    plain.push_back(e.run([&] { blocking(call); }));
    wait_for_calls(e, 1, 2 * plain.size() - 1);
    REQUIRE(e.submit(calls_after_wait(call, token(alive))) == submit_result::accepted);
    wait_for_calls(e, 1, 2 * plain.size());
  }
  future<void> alone = e.run([&] { // no engine runs its coroutine, so it waits on this thread
    const auto calls = [&]() -> task<> {
      co_await run_blocking(call);
    }; // lives until its coroutine has ended
    auto body = calls();
    auto&& awaiter = std::move(body).operator co_await();
    awaiter.await_suspend(std::noop_coroutine()).resume();
  });
  wait_for_calls(e, 1, 7);
  p.blocking.on_full = excess_action::refuse;
  CHECK(e.apply(p).applied());
  for (future<void>& f : plain) CHECK_THROWS_AS(f.get(), blocking_full);
  wait_for_calls(e, 1, 4);
  CHECK(called == 0);
  CHECK(e.metrics().blocking_calls_refused == 3);
  CHECK_FALSE(e.run([] { return detail::is_unlimited(); }).get());
  held.open();
  holds.get();
  alone.get();
  e.drain();
  wait_for_calls(e, 0, 0);
  CHECK(called == 4);
  CHECK(alive == 0);
  e.run([&] { blocking(call); }).get();
  CHECK(called == 5);
}

TEST_CASE("blocking limit: a shutdown at its deadline destroys the coroutines that wait, and their calls are "
          "not made") {
  const auto held = std::make_shared<gate>(); // its task outlives the engine
  std::atomic<int> alive{0};
  std::atomic<int> called{0};
  {
    engine e(limited_calls(1, 1));
    REQUIRE(e.submit([held] { blocking([&] { held->pass(); }); }) == submit_result::accepted);
    held->wait_for(1);
    std::vector<future<void>> results;
    for (int i = 0; i < several; ++i)
      results.push_back(e.run(calls_after_wait([&] { ++called; }, token(alive))));
    wait_until_suspended(e, several);
    const shutdown_report report = e.shutdown(1ms);
    REQUIRE(report.suspended.size() == 1);
    CHECK(report.suspended[0].kind == wait_kind::blocking_call);
    CHECK(report.suspended[0].coroutines == several);
    CHECK(report.kept.empty());
    held->open();
    for (future<void>& f : results) CHECK_THROWS_AS(f.get(), not_run);
  }
  wait_until_none(alive);
  CHECK(called == 0);
  while (held.use_count() > 1) std::this_thread::yield();
}

TEST_CASE("blocking limit: a shutdown waits for calls that wait, up to its deadline") {
  std::atomic<int> alive{0};
  std::atomic<int> called{0};
  {
    engine e(limited_calls(2, 1));
    for (int i = 0; i < 20; ++i)
      REQUIRE(e.submit(calls_after_wait(
                  [&] {
                    std::this_thread::sleep_for(1ms);
                    ++called;
                  },
                  token(alive))) == submit_result::accepted);
    CHECK(e.shutdown(1min).clean());
  }
  CHECK(called == 20);
  CHECK(alive == 0);
}

TEST_CASE("blocking limit: a coroutine that is destroyed after it was called up passes its permit on") {
  const auto first = std::make_shared<gate>();
  const auto busy = std::make_shared<gate>();
  std::atomic<int> alive{0};
  std::atomic<int> called{0};
  profile p = limited_calls(1, 1);
  p.blocking.spares_max = 1;
  engine e(p);
  REQUIRE(e.submit([first] { blocking([&] { first->pass(); }); }) == submit_result::accepted);
  first->wait_for(1);
  REQUIRE(e.submit(calls_after_wait([&] { ++called; }, token(alive))) == submit_result::accepted);
  wait_for_calls(e, 1, 1);
  // The only worker stays in a task, and both threads are in use.
  REQUIRE(e.submit([busy] { busy->pass(); }) == submit_result::accepted);
  busy->wait_for(1);
  first->open(); // the coroutine is called up, and no worker comes to it
  wait_for_calls(e, 0, 0);
  CHECK(alive == 1);
  const shutdown_report report = e.shutdown(0ms);
  busy->open();
  wait_until_none(alive);
  CHECK(called == 0);
  CHECK(report.dropped <= 1);
}

TEST_CASE("blocking limit: a coroutine that is stopped before its call goes on without it") {
  gate held;
  engine e(limited_calls(2, 1));
  REQUIRE(e.submit([&] { blocking([&] { held.pass(); }); }) == submit_result::accepted);
  held.wait_for(1);
  std::stop_source source;
  bool called = false;
  const auto counts = [](bool& call, std::stop_token stop) -> task<bool> {
    co_return co_await run_blocking([&] { call = true; }, std::move(stop));
  };
  const auto answers = [](std::stop_token stop) -> task<int> {
    const std::optional<int> answer = co_await run_blocking([] { return 5; }, std::move(stop));
    co_return answer.value_or(-1);
  };
  future<bool> stopped = e.run(counts(called, source.get_token()));
  future<int> none = e.run(answers(source.get_token()));
  future<int> five = e.run(answers({}));
  wait_for_calls(e, 1, 3);
  source.request_stop();
  CHECK_FALSE(stopped.get());
  CHECK(none.get() == -1);
  CHECK_FALSE(e.run(counts(called, source.get_token())).get()); // stopped before
  CHECK_FALSE(called);
  wait_for_calls(e, 1, 1);
  held.open();
  CHECK(five.get() == 5);
  CHECK(e.run(answers({})).get() == 5);
  CHECK(e.run(counts(called, {})).get());
  CHECK(called);
  e.drain();
  wait_for_calls(e, 0, 0);
  CHECK(e.dump().suspended.empty());
}

TEST_CASE(
    "blocking limit: a coroutine that is stopped while a thread takes its permit over goes on at once") {
  gate first;
  gate second;
  gate busy;
  engine e(limited_calls(1, 1));
  REQUIRE(e.submit([&] { blocking([&] { first.pass(); }); }) == submit_result::accepted);
  first.wait_for(1);
  std::stop_source source;
  const auto call = [](std::stop_token stop) -> task<bool> {
    co_return co_await run_blocking([] {}, std::move(stop));
  };
  future<bool> called = e.run(call(source.get_token()));
  wait_for_calls(e, 1, 1);
  REQUIRE(e.submit([&] { blocking([&] { second.pass(); }); }) == submit_result::accepted);
  wait_for_calls(e, 1, 2);
  REQUIRE(e.submit([&] { busy.pass(); }) ==
          submit_result::accepted); // the coroutine, called up, must wait for it
  busy.wait_for(1);
  first.open();
  second.wait_for(1); // the thread has the permit
  source.request_stop();
  busy.open();
  CHECK_FALSE(called.get());
  second.open();
  e.drain();
  wait_for_calls(e, 0, 0);
}

TEST_CASE("blocking limit: each coroutine is called or stopped, once, while calls end and stops come") {
  const std::uint64_t seed = std::random_device{}();
  CAPTURE(seed);
  MESSAGE("seed ", seed);
  std::mt19937_64 random(seed);
  engine e(limited_calls(4, 2));
  for (int round = 0; round < 500; ++round) {
    constexpr int coroutines = 8;
    std::stop_source source;
    std::atomic<int> called{0};
    std::atomic<int> went_on{0};
    std::atomic<int> stopped{0};
    const auto calls = [](std::stop_token stop, std::atomic<int>& made, std::atomic<int>& yes,
                          std::atomic<int>& no) -> task<> {
      const bool was_called = co_await run_blocking(
          [&] {
            ++made;
            std::this_thread::sleep_for(5us);
          },
          std::move(stop));
      ++(was_called ? yes : no);
    };
    for (int i = 0; i < coroutines; ++i)
      REQUIRE(e.submit(calls(source.get_token(), called, went_on, stopped)) == submit_result::accepted);
    std::this_thread::sleep_for(std::chrono::microseconds{random() % 400});
    source.request_stop();
    e.drain();
    CHECK(went_on + stopped == coroutines);
    CHECK(called == went_on);
  }
  wait_for_calls(e, 0, 0);
  CHECK(e.dump().suspended.empty());
}

TEST_CASE("blocking limit: many calls of both forms under changing limits all run, never above the largest") {
  const std::uint64_t seed = std::random_device{}();
  CAPTURE(seed);
  MESSAGE("seed ", seed);
  std::mt19937_64 random(seed);
  constexpr std::uint32_t largest = 4;
  for (int round = 0; round < 30; ++round) {
    profile p = limited_calls(1 + static_cast<std::uint32_t>(random() % 8), largest);
    p.blocking.spares_max = std::array{0U, 1U, 64U}[random() % 3];
    p.blocking.keep_alive = 1ms;
    engine e(p);
    std::atomic<int> now{0};
    std::atomic<int> most{0};
    std::atomic<int> ended{0};
    const auto call = [&](int length_us) {
      const int calls = now.fetch_add(1) + 1;
      for (int seen = most.load(); seen < calls && !most.compare_exchange_weak(seen, calls);) {
      }
      if (length_us != 0) std::this_thread::sleep_for(std::chrono::microseconds{length_us});
      now.fetch_sub(1);
      ended.fetch_add(1);
    };
    const auto several_calls = [](auto f, int times, int length_us) -> task<> {
      for (int i = 0; i < times; ++i) {
        co_await run_blocking([&] { f(length_us); });
        if (i % 2 == 0) co_await yield();
      }
    };
    constexpr int tasks = 200;
    int expected = 0;
    for (int i = 0; i < tasks; ++i) {
      const int length_us = random() % 4 == 0 ? static_cast<int>(random() % 300) : 0;
      const int times = 1 + static_cast<int>(random() % 3);
      expected += times;
      if (random() % 8 == 0)
        REQUIRE(e.submit([&call, times, length_us] {
          for (int k = 0; k < times; ++k) blocking([&] { call(length_us); });
        }) == submit_result::accepted);
      else
        REQUIRE(e.submit(several_calls(call, times, length_us)) == submit_result::accepted);
      if (random() % 20 == 0) {
        p.blocking.max_concurrent = 1 + static_cast<std::uint32_t>(random() % largest);
        CHECK(e.apply(p).applied());
      }
    }
    e.drain();
    CHECK(ended == expected);
    CHECK(most <= static_cast<int>(largest));
    const metrics_snapshot m = e.metrics();
    CHECK(m.blocking_calls_running == 0);
    CHECK(m.blocking_calls_waiting == 0);
    CHECK(e.dump().suspended.empty());
  }
}

TEST_CASE("blocking limit: an engine that ends at any moment calls or destroys each waiting coroutine") {
  const std::uint64_t seed = std::random_device{}();
  CAPTURE(seed);
  MESSAGE("seed ", seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> alive{0};
    std::atomic<int> called{0};
    {
      profile p = limited_calls(2, 1 + static_cast<std::uint32_t>(random() % 2));
      p.blocking.spares_max = std::array{0U, 4U}[random() % 2];
      engine e(p);
      for (int i = 0; i < 20; ++i)
        REQUIRE(e.submit(calls_after_wait(
                    [&] {
                      std::this_thread::sleep_for(50us);
                      ++called;
                    },
                    token(alive))) == submit_result::accepted);
      std::this_thread::sleep_for(std::chrono::microseconds{random() % 1500});
      static_cast<void>(e.shutdown(0ms));
    }
    wait_until_none(alive);
    CHECK(called <= 20);
  }
}
