// `blocking.max_concurrent`: how many blocking calls run at once, and how the others wait.

#include "child_process.hpp"
#include "peeking.hpp"
#include "small_engine.hpp"
#include "suspended.hpp"
#include "threads/limited_calls.hpp"

#include <corewise/engine/run_blocking.hpp>
#include <corewise/engine/when_all.hpp>
#include <corewise/engine/when_any.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace corewise;
using namespace corewise::tests;
using namespace std::chrono_literals;

namespace {

/// Counts the calls that run at once.
class overlap {
 public:
  void enter() {
    const int now = now_.fetch_add(1) + 1;
    for (int seen = most_.load(); seen < now && !most_.compare_exchange_weak(seen, now);) {
    }
  }
  void leave() { now_.fetch_sub(1); }
  int most() const { return most_; }

 private:
  std::atomic<int> now_{0};
  std::atomic<int> most_{0};
};

void wait_until_waiting(const engine& e, std::uint64_t calls) {
  while (e.metrics().blocking_calls_waiting != calls) std::this_thread::yield();
}

/// Submits a call that holds a permit until the gate opens, and waits until it runs.
void hold_permit(engine& e, gate& held) {
  REQUIRE(e.submit([&] { blocking([&] { held.pass(); }); }) == submit_result::accepted);
  held.wait_for(1);
}

template <class F> task<> awaits_call(F f) { co_await run_blocking(f); }

} // namespace

TEST_CASE("blocking limit: no more calls run at once than allowed, and all run") {
  for (const std::uint32_t spares : {0U, 3U, 64U}) {
    CAPTURE(spares);
    profile p = limited_calls(4, 3);
    p.blocking.spares_max = spares;
    engine e(p);
    overlap calls;
    std::atomic<int> ended{0};
    const auto call = [&] {
      calls.enter();
      std::this_thread::sleep_for(200us);
      calls.leave();
      ended.fetch_add(1);
    };
    for (int i = 0; i < 100; ++i) {
      REQUIRE(e.submit(awaits_call(call)) == submit_result::accepted);
      if (i % 4 == 0) REQUIRE(e.submit([&] { blocking(call); }) == submit_result::accepted);
    }
    e.drain();
    CHECK(ended == 125);
    CHECK(calls.most() <= 3);
    const metrics_snapshot m = e.metrics();
    CHECK(m.blocking_calls_running == 0);
    CHECK(m.blocking_calls_waiting == 0);
    CHECK(m.blocking_calls_waited <= 125);
    CHECK(m.total().rescued_by_timeout == 0);
    CHECK(e.dump().suspended.empty());
  }
}

TEST_CASE("blocking limit: coroutines and threads that wait are served in the order in which they came") {
  gate held;
  engine e(limited_calls(2, 1));
  hold_permit(e, held);
  std::vector<int> order; // one call at a time
  constexpr int calls = 20;
  for (int i = 0; i < calls; ++i) {
    const auto call = [&order, i] { order.push_back(i); };
    if (i % 3 == 2)
      REQUIRE(e.submit([call] { blocking(call); }) == submit_result::accepted);
    else
      REQUIRE(e.submit(awaits_call(call)) == submit_result::accepted);
    wait_until_waiting(e, static_cast<std::uint64_t>(i) + 1);
  }
  held.open();
  e.drain();
  CHECK(std::ranges::is_sorted(order));
  CHECK(order.size() == calls);
  CHECK(e.metrics().blocking_calls_waited == calls);
}

TEST_CASE("blocking limit: a coroutine that waits takes no thread and no seat, and counts as suspended") {
  gate held;
  profile p = limited_calls(1, 1);
  p.blocking.spares_max = 1; // the thread that works beside the call that holds the permit
  engine e(p);
  hold_permit(e, held);
  std::atomic<int> ended{0};
  for (int i = 0; i < 200; ++i)
    REQUIRE(e.submit(awaits_call([&] { ended.fetch_add(1); })) == submit_result::accepted);
  wait_until_waiting(e, 200);
  e.run([] {}).get(); // the worker works
  const engine_dump d = e.dump();
  CHECK(number(d.suspended, wait_kind::blocking_call) == 200);
  CHECK(d.blocking_calls_running == 1);
  CHECK(d.blocking_calls_waiting == 200);
  CHECK(d.to_text().find("coroutines that wait for run_blocking: 200\n") != std::string::npos);
  CHECK(d.to_text().find("1 blocking calls run, and 200 wait") != std::string::npos);
  CHECK(d.to_json().find("\"blocking_calls_waiting\": 200") != std::string::npos);
  CHECK(e.metrics().total().blocking_calls == 1);
  CHECK(e.metrics().to_json().find("\"blocking_calls_waiting\":200") != std::string::npos);
  CHECK(ended == 0);
  held.open();
  e.drain();
  CHECK(ended == 200);
  CHECK(e.dump().suspended.empty());
}

TEST_CASE("blocking limit: after a wait the coroutine has its call's result or exception, on a worker") {
  for (const bool lose : {false, true}) {
    CAPTURE(lose);
    gate held;
    engine e(limited_calls(1, 1));
    hold_permit(e, held);
    std::atomic<int> taken{0};
    const auto call = [&](bool fails) {
      if (lose) {
        const int before = taken;
        if (e.submit([&] {
              ++taken;
              taken.notify_all();
            }) != submit_result::accepted)
          std::abort();
        taken.wait(before); // that task runs on the only worker
      }
      if (fails) throw std::runtime_error("disk");
      return 7;
    };
    const auto work = [&](bool fails) -> task<std::string> {
      std::string what;
      try {
        what = std::to_string(co_await run_blocking([&] { return call(fails); }));
      } catch (const std::runtime_error& error) {
        what = error.what();
      }
      co_return what + (e.this_worker() ? " on a worker" : "");
    };
    future<std::string> result = e.run(work(false));
    future<std::string> error = e.run(work(true));
    wait_until_waiting(e, 2);
    held.open();
    CHECK(result.get() == "7 on a worker");
    CHECK(error.get() == "disk on a worker");
    e.drain();
    CHECK(e.metrics().blocking_calls_waited == 2);
  }
}

TEST_CASE("blocking limit: a dump names the coroutine whose call its worker makes") {
  if (skipped_without_peeking()) return;
  gate first;
  gate second;
  profile p = limited_calls(2, 1);
  p.blocking.spares_max = 0;
  engine e(p);
  hold_permit(e, first);
  REQUIRE(e.submit(awaits_call([&] { second.pass(); })) == submit_result::accepted);
  wait_until_waiting(e, 1);
  first.open();
  second.wait_for(1);
  const engine_dump d = e.dump();
  CHECK(d.suspended.empty());
  CHECK(d.blocking_calls_running == 1);
  CHECK(std::ranges::count_if(d.seats, [](const seat_dump& s) {
          return s.state == seat_state::blocking && s.task_kind.find("awaits_call") != std::string::npos;
        }) == 1);
  second.open();
  e.drain();
}

TEST_CASE("blocking limit: a plain call in excess waits on its thread, and its worker goes on") {
  gate held;
  engine e(limited_calls(1, 1));
  hold_permit(e, held);
  std::atomic<bool> called{false};
  REQUIRE(e.submit([&] { blocking([&] { called = true; }); }) == submit_result::accepted);
  wait_until_waiting(e, 1);
  CHECK(e.dump().suspended.empty());
  e.run([] {}).get();
  CHECK_FALSE(called);
  held.open();
  e.drain();
  CHECK(called);
  CHECK(e.metrics().blocking_calls_waited == 1);
}

TEST_CASE("blocking limit: where calls in excess are refused, a plain call throws before it is made, and "
          "run_blocking waits") {
  gate held;
  profile p = limited_calls(1, 1);
  p.blocking.on_full = excess_action::refuse;
  engine e(p);
  hold_permit(e, held);
  bool called = false;
  CHECK_THROWS_AS(e.run([&] { blocking([&] { called = true; }); }).get(), blocking_full);
  CHECK_FALSE(called);
  CHECK(e.metrics().blocking_calls_refused == 1);
  CHECK(e.metrics().total().blocking_calls == 1); // the refused call has not lent its seat
  future<void> waits = e.run(awaits_call([&] { called = true; }));
  wait_until_waiting(e, 1);
  held.open();
  waits.get();
  CHECK(called);
  e.run([] { blocking([] {}); }).get();
  CHECK(e.metrics().blocking_calls_refused == 1);
}

TEST_CASE("blocking limit: a call within another needs no permit of its own") {
  for (const excess_action on_full : {excess_action::wait, excess_action::refuse}) {
    profile p = limited_calls(2, 1);
    p.blocking.on_full = on_full;
    engine e(p);
    CHECK(e.run([] { return blocking([] { return blocking([] { return 5; }); }); }).get() == 5);
    const auto nested = []() -> task<int> {
      co_return co_await run_blocking([] { return blocking([] { return 6; }); });
    };
    CHECK(sync_wait(e, nested()) == 6);
    CHECK(e.metrics().blocking_calls_waited == 0);
    CHECK(e.metrics().blocking_calls_running == 0);
    std::thread outside([] { CHECK(blocking([] { return 7; }) == 7); });
    outside.join();
  }
}

TEST_CASE("blocking limit: threads take over the permit of a coroutine that finds no worker") {
  gate held;
  profile p = limited_calls(2, 1);
  p.blocking.spares_max = 0;
  engine e(p);
  std::vector<int> order; // one call at a time
  REQUIRE(e.submit([&] {
    blocking([&] { held.pass(); });
    blocking([&] { order.push_back(1); }); // in excess: the first permit is another's by now
  }) == submit_result::accepted);
  held.wait_for(1);
  REQUIRE(e.submit(awaits_call([&] { order.push_back(2); })) == submit_result::accepted);
  wait_until_waiting(e, 1);
  REQUIRE(e.submit([&] { blocking([&] { order.push_back(3); }); }) == submit_result::accepted);
  wait_until_waiting(e, 2);
  held.open(); // the coroutine is called up, and both workers wait
  e.drain();
  std::ranges::sort(order);
  CHECK(order == std::vector<int>{1, 2, 3});
  CHECK(e.metrics().blocking_calls_running == 0);
}

TEST_CASE("blocking limit: a coroutine that no engine runs waits on the thread of the task that resumed it") {
  gate held;
  profile p = limited_calls(1, 1);
  p.blocking.on_full = excess_action::refuse;
  engine e(p);
  hold_permit(e, held);
  bool same_thread = false;
  future<void> f = e.run([&] {
    const auto id = std::this_thread::get_id();
    const auto body = [&]() -> task<> {
      same_thread = co_await run_blocking([&] { return std::this_thread::get_id() == id; });
    };
    auto alone = body();
    auto&& awaiter = std::move(alone).operator co_await();
    awaiter.await_suspend(std::noop_coroutine()).resume();
  });
  wait_until_waiting(e, 1);
  held.open();
  f.get();
  CHECK(same_thread);
}

TEST_CASE("blocking limit: both calls of a when_any are made, one after the other") {
  gate held;
  engine e(limited_calls(2, 1));
  hold_permit(e, held);
  overlap calls;
  std::atomic<int> ended{0};
  const auto call = [&] {
    calls.enter();
    ++ended;
    calls.leave();
  };
  future<void> f = e.run([](auto made) -> task<> {
    static_cast<void>(co_await when_any(awaits_call(made), awaits_call(made)));
  }(call));
  wait_until_waiting(e, 2);
  held.open();
  f.get();
  CHECK(ended == 2);
  CHECK(calls.most() == 1);
}

TEST_CASE("blocking limit: hooks of a worker need no permit") {
  engine_hooks hooks;
  std::atomic<int> calls{0};
  const auto block = [&](worker_id) { blocking([&] { ++calls; }); };
  hooks.on_worker_start = block;
  hooks.on_worker_stop = block;
  gate held;
  {
    profile p = limited_calls(1, 1);
    p.blocking.on_full = excess_action::refuse;
    engine e(p, hooks);
    hold_permit(e, held);
    e.run([] {}).get(); // a spare thread has begun
    CHECK(calls >= 2);
    held.open();
    e.drain();
    CHECK(e.metrics().blocking_calls_refused == 0);
  }
  CHECK(calls >= 3);
}

TEST_CASE("blocking limit: in a child that a call forked, calls are plain calls") {
  engine e(limited_calls(2, 1));
  int status = -1;
  e.run([&] {
     blocking([&] {
       status = exit_status(child_that([] {
         const int answer = blocking([] { return 5; });
         engine own(limited_calls(1, 1));
         const int other = own.run([] { return blocking([] { return 6; }); }).get();
         std::_Exit(answer == 5 && other == 6 ? 0 : 1);
       }));
     });
   }).get();
  CHECK(status == 0);
  CHECK(e.metrics().blocking_calls_running == 0);
}
