#include "small_engine.hpp"
#include "within.hpp"

#include <corewise/engine/yield.hpp>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

using namespace corewise;

namespace {

/// Waits until each blocking call has handed over its seat or regained it. A thread that takes a seat when no
/// task is left may count that after the last task has ended.
void wait_until_seats_are_settled(const engine& e) {
  for (;;) {
    const worker_metrics total = e.metrics().total();
    if (total.taken_seats + total.regained_seats >= total.blocking_calls) return;
    std::this_thread::yield();
  }
}

} // namespace

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

TEST_CASE("blocking: it returns the function's result, throws its exception, and works outside an engine") {
  CHECK(blocking([] { return 5; }) == 5);
  int value = 1;
  blocking([&]() -> int& { return value; }) = 2;
  CHECK(value == 2);
  CHECK_THROWS_AS(blocking([] { throw std::runtime_error("x"); }), std::runtime_error);
}

TEST_CASE("blocking: a task that lost its seat is on no worker, may still submit, and drain waits for it") {
  engine e(small_profile(1));
  std::atomic<int> runs{0};
  std::atomic<bool> taken{false};
  CHECK(e.submit([&] {
    CHECK(e.this_worker().has_value());
    blocking([&] {
      CHECK_FALSE(e.this_worker().has_value());
      if (e.submit([&] {
            taken = true;
            taken.notify_all();
          }) != submit_result::accepted)
        std::abort();
      taken.wait(false); // that task runs on the only seat
    });
    CHECK_FALSE(e.this_worker().has_value());
    for (int i = 0; i < 10; ++i)
      if (e.submit([&] { runs.fetch_add(1); }) != submit_result::accepted) std::abort();
  }) == submit_result::accepted);
  e.drain();
  CHECK(runs == 10);
  CHECK(e.metrics().total().taken_seats == 1);
  CHECK(e.metrics().total().executed == 12);
  CHECK(e.metrics().total().regained_seats == 0);
  CHECK(e.metrics().waiting() == 0);
}

TEST_CASE("blocking: without spare threads the caller always gets its seat back") {
  profile p = small_profile(1);
  p.blocking.spares_max = 0;
  engine e(p);
  for (int i = 0; i < 100; ++i)
    CHECK(e.submit([&] {
      const auto before = e.this_worker();
      blocking([] { std::this_thread::sleep_for(std::chrono::microseconds{100}); });
      CHECK(e.this_worker() == before);
    }) == submit_result::accepted);
  e.drain();
  CHECK(e.metrics().total().blocking_calls == 100);
  CHECK(e.metrics().total().regained_seats == 100);
}

TEST_CASE("blocking: each lent seat comes back or is taken over, in calls of all lengths") {
  for (const char* steal : {"nearest_half", "random_half", "hottest_half", "none"}) {
    CAPTURE(steal);
    profile p = small_profile(2);
    p.steal.policy = steal;
    if (p.steal.policy == "none") p.queues.inbox.reset();
    engine e(p);
    std::atomic<int> ended{0};
    for (int i = 0; i < 500; ++i)
      CHECK(e.submit([&e, &ended, i] {
        for (int call = 0; call < 3; ++call)
          blocking([&] {
            if (i % 5 != 0) return;
            if (e.submit([&] { ended.fetch_add(1); }) != submit_result::accepted) std::abort();
            std::this_thread::sleep_for(std::chrono::microseconds{i});
          });
        ended.fetch_add(1);
      }) == submit_result::accepted);
    e.drain();
    CHECK(ended == 500 + 300);
    wait_until_seats_are_settled(e);
    const worker_metrics total = e.metrics().total();
    CHECK(total.taken_seats + total.regained_seats == total.blocking_calls);
    CHECK(total.rescued_by_timeout == 0);
    CHECK(e.metrics().waiting() == 0);
  }
}

TEST_CASE("blocking: tasks in the queues of a lent seat run, under every steal policy") {
  for (const char* steal : {"nearest_half", "random_half", "hottest_half", "none"})
    for (const bool unbounded : {false, true}) {
      CAPTURE(steal);
      profile p = small_profile(1);
      p.steal.policy = steal;
      if (unbounded && p.steal.policy != "none") continue;
      if (unbounded) p.queues.inbox.reset();
      engine e(p);
      gate held;
      std::atomic<int> runs{0};
      const auto run = [&] {
        runs.fetch_add(1);
        runs.notify_all();
      };
      CHECK(e.submit([&] {
        for (int i = 0; i < 20; ++i)
          if (e.submit(run) != submit_result::accepted) std::abort(); // to the slot and the ring
        blocking([&] { held.pass(); });
      }) == submit_result::accepted);
      held.wait_for(1);
      for (int i = 0; i < 20; ++i) CHECK(e.submit(run) == submit_result::accepted); // to the inbox
      for (int now = runs.load(); now < 40; now = runs.load()) runs.wait(now);
      held.open();
      e.drain();
      CHECK(runs == 40);
    }
}

TEST_CASE("blocking: a seat that waits for a spare thread is taken as soon as there is one") {
  profile p = small_profile(1);
  p.blocking.spares_max = 1;
  engine e(p);
  gate first;
  gate second;
  std::atomic<bool> ran{false};
  CHECK(e.submit([&] { blocking([&] { first.pass(); }); }) == submit_result::accepted);
  CHECK(e.submit([&] { blocking([&] { second.pass(); }); }) == submit_result::accepted);
  CHECK(e.submit([&] {
    ran = true;
    ran.notify_all();
  }) == submit_result::accepted);
  first.wait_for(1);
  second.wait_for(1);
  first.open(); // its thread becomes a spare thread
  ran.wait(false);
  CHECK(e.metrics().total().taken_seats == 2);
  second.open();
  e.drain();
}

TEST_CASE("blocking: a coroutine goes on after calls in which it loses its seat, and after others") {
  engine e(small_profile(2));
  std::atomic<int> steps{0};
  const auto walk = [](std::atomic<int>& count, engine& on) -> task<> {
    for (int i = 0; i < 20; ++i) {
      blocking([&] {
        if (i % 4 == 0) std::this_thread::sleep_for(std::chrono::milliseconds{1});
      });
      co_await yield();
      if (on.this_worker()) count.fetch_add(1);
    }
  };
  for (int i = 0; i < 20; ++i) CHECK(e.submit(walk(steps, e)) == submit_result::accepted);
  e.drain();
  CHECK(steps == 400); // a coroutine that was suspended goes on upon a seat
  wait_until_seats_are_settled(e);
  const worker_metrics total = e.metrics().total();
  CHECK(total.taken_seats + total.regained_seats == 400);
}

TEST_CASE("blocking: a shutdown at its deadline reports a blocked task, which ends later") {
  const auto held = std::make_shared<gate>(); // its task outlives the engine
  {
    engine e(small_profile(1));
    CHECK(e.submit([held] { blocking([&] { held->pass(); }); }) == submit_result::accepted);
    held->wait_for(1);
    const shutdown_report report = e.shutdown(std::chrono::milliseconds{1});
    REQUIRE(!report.running.empty()); // a thread without a task may be late to leave
    CHECK(report.running[0].worker == worker_id{0});
  }
  held->open();
  while (held.use_count() > 1) std::this_thread::yield();
}

TEST_CASE("blocking: a destructor during blocking calls loses no task") {
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> ended{0};
    {
      engine e(small_profile(2));
      for (int i = 0; i < 100; ++i)
        CHECK(e.submit([&ended, i] {
          blocking([&] { std::this_thread::sleep_for(std::chrono::microseconds{i * 3}); });
          ended.fetch_add(1);
        }) == submit_result::accepted);
    }
    CHECK(ended == 100);
  }
}

TEST_CASE("blocking: in the hooks of a worker it is a plain call") {
  engine_hooks hooks;
  const auto block = [](worker_id) {
    blocking([] { std::this_thread::sleep_for(std::chrono::milliseconds{1}); });
  };
  hooks.on_worker_start = block;
  hooks.on_worker_stop = block;
  std::atomic<int> runs{0};
  {
    engine e(small_profile(2), hooks);
    for (int i = 0; i < 100; ++i) CHECK(e.submit([&] { runs.fetch_add(1); }) == submit_result::accepted);
    e.drain();
    CHECK(e.metrics().total().blocking_calls == 0);
  }
  CHECK(runs == 100);
}

TEST_CASE("blocking: in a child that a task forked it is a plain call") {
  engine e(small_profile(2));
  std::atomic<int> status{-1};
  CHECK(e.submit([&] {
    const pid_t child = ::fork();
    if (child == 0) {
      const int answer = blocking([] { return 5; });
      const bool refused = e.submit([] {}) == submit_result::stopping;
      std::_Exit(answer == 5 && refused ? 0 : 1);
    }
    int code = 0;
    ::waitpid(child, &code, 0);
    status = code;
  }) == submit_result::accepted);
  e.drain();
  CHECK(status == 0);
}

TEST_CASE("blocking: when no spare thread is left, the worker itself blocks, others take its tasks, and none "
          "is lost") {
  profile p = small_profile(2);
  p.blocking.spares_max = 0;
  // One domain: workers of another domain do not come for fewer than `steal.minimum_at` tasks.
  p.topology.machine.source = synthetic_source{"numa:1 l3:1 core:4 pu:1"};
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

TEST_CASE("blocking: a nested call is part of the outer one, with and without a spare thread") {
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

namespace {

/// Uses an engine when its thread ends, which takes a while.
struct looks_at_the_end {
  const engine* at = nullptr;
  gate* ends = nullptr;
  std::atomic<bool>* ended = nullptr;
  ~looks_at_the_end() {
    if (at == nullptr) return;
    ends->pass();
    static_cast<void>(at->metrics());
    ended->store(true);
  }
};
thread_local looks_at_the_end last_look;

} // namespace

TEST_CASE("blocking: a spare thread that ends may use the engine while others come") {
  using namespace std::chrono_literals;
  profile p = small_profile(1);
  p.blocking.keep_alive = 10ms;
  gate ends;
  std::atomic<bool> ended{false};
  std::atomic<bool> taken{false};
  std::atomic<bool> served{false};
  engine e(p);
  REQUIRE(e.submit([&] { // its thread loses the seat, becomes spare, and ends
    last_look.at = &e;
    last_look.ends = &ends;
    last_look.ended = &ended;
    blocking([&] { taken.wait(false); });
  }) == submit_result::accepted);
  REQUIRE(e.submit([&] { // on the seat's next thread
    taken = true;
    taken.notify_all();
  }) == submit_result::accepted);
  ends.wait_for(1);
  REQUIRE(e.submit([&] {
    blocking([&] { // a new thread gets the seat, since that one has left
      while (!served) std::this_thread::sleep_for(1ms);
    });
  }) == submit_result::accepted);
  REQUIRE(e.submit([&] { served = true; }) == submit_result::accepted);
  CHECK(within(10s, [&] { return served.load(); }));
  ends.open();
  CHECK(within(10s, [&] { return ended.load(); }));
  e.drain();
}
