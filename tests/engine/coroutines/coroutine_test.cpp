#include "small_engine.hpp"
#include "token.hpp"

#include <corewise/engine/engine.hpp>
#include <corewise/engine/oneshot.hpp>
#include <corewise/engine/yield.hpp>

#include <doctest/doctest.h>

#include <thread>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" // the one-piece oneshot

using namespace corewise;

namespace {

task<int> twice(int n) { co_return 2 * n; }

task<int> sum_to(int n) {
  int sum = 0;
  for (int i = 1; i <= n; ++i) sum += co_await twice(i);
  co_return sum;
}

task<int> fails() {
  throw std::runtime_error("no");
  co_return 0;
}

template <class F> void run_to_end(engine& e, F make) {
  REQUIRE(e.submit(make()) == submit_result::accepted);
  e.drain();
}

} // namespace

TEST_CASE("coroutines: an awaited task returns its value") {
  engine e(small_profile(2));
  std::atomic<int> answer{0};
  run_to_end(e, [&]() -> task<> {
    return [](std::atomic<int>& out) -> task<> { out = co_await sum_to(1000); }(answer);
  });
  CHECK(answer == 1001000);
}

TEST_CASE("coroutines: an exception of an awaited task is thrown by the co_await") {
  engine e(small_profile(1));
  std::atomic<bool> caught{false};
  const auto body = [](std::atomic<bool>& out) -> task<> {
    try {
      co_await fails();
    } catch (const std::runtime_error&) {
      out = true;
    }
  };
  run_to_end(e, [&] { return body(caught); });
  CHECK(caught);
}

TEST_CASE("coroutines: an exception that leaves a submitted coroutine counts as the task's") {
  profile p = small_profile(1);
  p.on_exception = exception_action::report;
  std::atomic<int> reported{0};
  engine_hooks hooks;
  hooks.on_exception = [&](const std::exception_ptr&) { ++reported; };
  engine e(p, hooks);
  run_to_end(e, []() -> task<> {
    co_await yield();
    co_await fails();
  });
  CHECK(reported == 1);
  CHECK(e.metrics().failed == 1);
  CHECK(e.metrics().in_flight() == 0);
}

TEST_CASE("yield: waiting tasks run first, in turn") {
  engine e(small_profile(1));
  std::string order; // only one worker writes it
  const auto say = [](std::string& out, char c) -> task<> {
    for (int i = 0; i < 3; ++i) {
      out += c;
      co_await yield();
    }
  };
  REQUIRE(e.submit([&] {
    for (const char c : {'a', 'b', 'c'}) REQUIRE(e.submit(say(order, c)) == submit_result::accepted);
  }) == submit_result::accepted);
  e.drain();
  // The newest begins first (it is in the LIFO slot); from then on they take turns.
  CHECK(order.substr(0, 3) == "cab");
  CHECK(order.size() == 9);
  CHECK(order.substr(3) == order.substr(0, 3) + order.substr(0, 3));
}

TEST_CASE("yield: coroutines whose tasks have become short take turns with other waiting tasks, in order") {
  profile p = small_profile(1);
  p.queues.lifo_cap = 0;
  engine e(p);
  const auto yields = [](int n) -> task<> {
    for (; n > 0; --n) co_await yield();
  };
  run_to_end(e, [&] { return yields(50'000); }); // the worker learns that tasks are short
  std::string order;                             // only one worker writes it
  const auto say = [](std::string& out, char c, int n) -> task<> {
    for (; n > 0; --n) {
      out += c;
      co_await yield();
    }
  };
  REQUIRE(e.submit([&] {
    const auto spawn = [&](auto&& t) {
      REQUIRE(e.submit(std::forward<decltype(t)>(t)) == submit_result::accepted);
    };
    spawn(say(order, 'a', 300));
    spawn([&] { order += 'B'; });
    spawn(say(order, 'c', 300));
    spawn([&] { order += 'D'; });
    spawn([&, spawn] { spawn([&] { order += 'F'; }), order += 'E'; }); // the inner one outlives the outer one
    spawn(say(order, 'g', 2));
  }) == submit_result::accepted);
  e.drain();
  std::string expected = "aBcDEgacFg";
  for (int i = 2; i < 300; ++i) expected += "ac";
  CHECK(order == expected);
  CHECK(e.metrics().total().executed == 50'001 + 2 * 301 + 3 + 4 + 1);
}

TEST_CASE("yield: an urgent task and a task in the LIFO slot come before the next turn") {
  profile p = small_profile(1);
  std::string expected;
  hint wish;
  SUBCASE("an urgent task") {
    p.queues.lifo_cap = 0;
    wish.run_as = task_class::latency;
    expected = "ababXab";
  }
  SUBCASE("a task in the LIFO slot, in which the newer of the two began") { expected = "bababXa"; }
  engine e(p);
  const auto yields = [](int n) -> task<> {
    for (; n > 0; --n) co_await yield();
  };
  run_to_end(e, [&] { return yields(50'000); }); // the worker learns that tasks are short
  std::string order;                             // only one worker writes it
  const auto says_and_submits = [](engine& on, std::string& out, const hint& how, char c) -> task<> {
    for (int turn = 0; turn < 3; ++turn) {
      out += c;
      if (c == 'b' && turn == (how.run_as == task_class::latency ? 1 : 2)) {
        const submit_result in = on.submit([&out] { out += 'X'; }, how);
        if (in != submit_result::accepted) std::abort();
      }
      co_await yield();
    }
  };
  REQUIRE(e.submit([&] {
    for (const char c : {'a', 'b'})
      REQUIRE(e.submit(says_and_submits(e, order, wish, c)) == submit_result::accepted);
  }) == submit_result::accepted);
  e.drain();
  CHECK(order == expected);
}

TEST_CASE("yield: a coroutine that yields without end holds up neither a reload nor the end") {
  profile p = small_profile(2);
  engine e(p);
  std::atomic<bool> stop{false};
  std::atomic<int> stopped{0};
  const auto spin = [](std::atomic<bool>& until, std::atomic<int>& n) -> task<> {
    while (!until) co_await yield();
    ++n;
  };
  for (int i = 0; i < 20; ++i) REQUIRE(e.submit(spin(stop, stopped)) == submit_result::accepted);
  for (std::uint32_t workers : {1U, 2U, 1U}) {
    p.workers.total = workers;
    CHECK(e.apply(p).applied());
    const std::uint64_t before = e.metrics().total().executed;
    while (e.metrics().total().executed < before + 100'000) std::this_thread::yield();
  }
  SUBCASE("they end") {
    stop = true;
    e.drain();
    CHECK(stopped == 20);
  }
  SUBCASE("they are destroyed") {
    CHECK(e.shutdown(std::chrono::milliseconds{1}).dropped == 20);
    CHECK(stopped == 0);
  }
}

TEST_CASE("yield: outside of an engine, yield does nothing") {
  bool done = false;
  auto body = [](bool& out) -> task<> {
    co_await yield();
    out = true;
  }(done);
  auto&& awaiter = std::move(body).operator co_await();
  awaiter.await_suspend(std::noop_coroutine()).resume();
  CHECK(done);
}

TEST_CASE("coroutines: one that blocked before its first suspension goes on at its seat") {
  engine e(small_profile(2));
  std::atomic<int> done{0};
  auto halves = make_oneshot<int>();
  const auto yields = [](std::atomic<int>& n) -> task<> {
    blocking([] {});
    co_await yield();
    ++n;
  };
  const auto waits = [](oneshot_receiver<int> from, std::atomic<int>& n) -> task<> {
    blocking([] {});
    n += co_await from.receive();
  };
  REQUIRE(e.submit(yields(done)) == submit_result::accepted);
  REQUIRE(e.submit(waits(std::move(halves.second), done)) == submit_result::accepted);
  std::this_thread::sleep_for(std::chrono::milliseconds{5});
  halves.first.send(1);
  e.drain();
  CHECK(done == 2);
}

TEST_CASE("yield: more tasks than the ring holds, all yielding, do not starve the inbox") {
  engine e(small_profile(1));
  std::atomic<bool> flag{false};
  const auto spin = [](std::atomic<bool>& until) -> task<> {
    while (!until) co_await yield();
  };
  REQUIRE(e.submit([&] {
    for (int i = 0; i < 2000; ++i) REQUIRE(e.submit(spin(flag)) == submit_result::accepted);
  }) == submit_result::accepted);
  while (e.metrics().submitted < 2001) std::this_thread::yield();
  std::atomic<bool> ran{false};
  REQUIRE(e.submit([&] { ran = true; }) == submit_result::accepted);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{20};
  while (!ran && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  CHECK(ran);
  flag = true;
  e.drain();
}

TEST_CASE("oneshot: sent before it is received, and after") {
  engine e(small_profile(2));
  for (int round = 0; round < 2000; ++round) {
    oneshot<std::unique_ptr<int>> shot;
    std::atomic<int> got{0};
    const auto receive = [](auto& from, std::atomic<int>& out) -> task<> { out = *co_await from.receive(); };
    const auto send = [&] { shot.send(std::make_unique<int>(round + 1)); };
    if (round % 3 == 0) send();
    REQUIRE(e.submit(receive(shot, got)) == submit_result::accepted);
    if (round % 3 == 1) send();
    if (round % 3 == 2) REQUIRE(e.submit(send) == submit_result::accepted);
    e.drain();
    CHECK(got == round + 1);
  }
}

TEST_CASE("oneshot: a stop ends the wait, and the value may come later") {
  engine e(small_profile(2));
  for (int round = 0; round < 4000; ++round) {
    oneshot<int> shot;
    std::stop_source source;
    std::atomic<int> got{0};
    const auto receive = [](oneshot<int>& from, std::stop_token stop, std::atomic<int>& out) -> task<> {
      std::optional<int> value = co_await from.receive(std::move(stop));
      if (!value) value = co_await from.receive(); // with `value ? … : co_await …` GCC 12 would always wait
      out = *value;
    };
    const auto send = [&] { shot.send(7); };
    if (round % 8 == 0) source.request_stop();
    if (round % 16 == 0) send();
    REQUIRE(e.submit(receive(shot, source.get_token(), got)) == submit_result::accepted);
    if (round % 2 == 1) REQUIRE(e.submit(send) == submit_result::accepted);
    source.request_stop();
    if (round % 2 == 0 && round % 16 != 0) send();
    e.drain();
    CHECK(got == 7);
  }
}

TEST_CASE("coroutines: those that are queued when the engine ends are destroyed with all coroutines that "
          "they await") {
  std::atomic<int> alive{0};
  std::atomic<bool> begun{false};
  {
    engine e(small_profile(1));
    const auto inner = [](token) -> task<> {
      for (;;) co_await yield();
    };
    const auto outer = [](auto make, token t, std::atomic<bool>& flag) -> task<> {
      flag = true;
      co_await make(t);
    };
    for (int i = 0; i < 10; ++i)
      REQUIRE(e.submit(outer(inner, token(alive), begun)) == submit_result::accepted);
    while (!begun) std::this_thread::yield();
    const shutdown_report report = e.shutdown(std::chrono::milliseconds{20});
    CHECK(report.dropped + report.running.size() == 10);
  }
  CHECK(alive == 0);
}

TEST_CASE("coroutines: one that was never submitted is destroyed without having run") {
  std::atomic<int> alive{0};
  {
    const auto unrun = [](token) -> task<> { co_return; }(token(alive));
  }
  CHECK(alive == 0);
}

TEST_CASE("coroutines: 100,000 tasks that each increment a counter, joined") {
  engine e(small_profile(8));
  std::atomic<int> counter{0};
  const auto increment = [](std::atomic<int>& n) -> task<> {
    co_await yield();
    n.fetch_add(1, std::memory_order_relaxed);
  };
  for (int i = 0; i < 100'000; ++i) REQUIRE(e.submit(increment(counter)) == submit_result::accepted);
  e.drain();
  CHECK(counter == 100'000);
  // A worker may still be leaving a task that was suspended there and has ended elsewhere.
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{20};
  while (e.metrics().waiting() != 0 && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  CHECK(e.metrics().waiting() == 0);
}

TEST_CASE("schedule: the coroutine goes on at the place that it names, as one task") {
  profile p = two_package_profile(2);
  p.steal.policy = "none"; // no worker takes it from there
  engine e(p);
  const auto body = [&]() -> task<std::vector<std::uint32_t>> {
    std::vector<std::uint32_t> seen;
    for (const std::uint32_t g : {1U, 0U, 1U}) {
      co_await e.schedule({.group = group_id{g}});
      seen.push_back(e.workers()[e.this_worker().value()].group.value);
    }
    co_return seen;
  };
  CHECK(sync_wait(e, body()) == std::vector<std::uint32_t>{1, 0, 1});
  e.drain();
  CHECK(e.metrics().submitted == 1);
}

TEST_CASE("schedule: from then on the coroutine has the class that it names") {
  engine e(small_profile(1));
  const auto body = [&]() -> task<> {
    co_await e.schedule({.run_as = task_class::background});
    co_await yield();
    co_await e.schedule();
    co_await yield();
  };
  sync_wait(e, body());
  CHECK(e.metrics().total().background_runs == 2);
}

TEST_CASE("schedule: a coroutine of another engine, or of none, is refused") {
  engine e(small_profile(1));
  engine other(small_profile(1));
  const auto body = [](engine& to) -> task<> { co_await to.schedule(); };
  CHECK_THROWS_AS(sync_wait(e, body(other)), std::logic_error);
  auto alone = body(e);
  auto&& awaiter = std::move(alone).operator co_await();
  awaiter.await_suspend(std::noop_coroutine()).resume();
  CHECK_THROWS_AS(awaiter.await_resume(), std::logic_error);
}

TEST_CASE("LIFO slot: a thief finds a task that waits in the slot behind a task that does not end") {
  for (const auto timeout : {park_timeout_setting::mode::adaptive, park_timeout_setting::mode::never}) {
    profile p = small_profile(3);
    p.idle.park_timeout.kind = timeout;
    engine e(p);
    std::atomic<int> rescued{0};
    for (int round = 0; round < 50; ++round) {
      REQUIRE(e.submit([&] {
        std::atomic<bool> child{false};
        REQUIRE(e.submit([&] { child = true; }) == submit_result::accepted);
        while (!child) std::this_thread::yield();
        ++rescued;
      }) == submit_result::accepted);
      e.drain();
    }
    CHECK(rescued == 50);
    CHECK(e.metrics().total().rescued_by_timeout == 0);
  }
}
