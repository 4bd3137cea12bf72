// The end of an engine while coroutines are suspended, for each thing that a coroutine may wait for.

#include "small_engine.hpp"
#include "suspended.hpp"
#include "token.hpp"

#include <corewise/engine/barrier.hpp>
#include <corewise/engine/channel.hpp>
#include <corewise/engine/event.hpp>
#include <corewise/engine/latch.hpp>
#include <corewise/engine/mutex.hpp>
#include <corewise/engine/oneshot.hpp>
#include <corewise/engine/scope.hpp>
#include <corewise/engine/semaphore.hpp>
#include <corewise/engine/when_all.hpp>
#include <corewise/engine/yield.hpp>

#include <doctest/doctest.h>

#include <array>
#include <vector>

using namespace corewise;
using namespace corewise::tests;
using namespace std::chrono_literals;

namespace {

/// Waits, and then must not be reached.
template <class Wait> task<> waits(Wait wait, token /*held*/) {
  static_cast<void>(co_await wait());
  FAIL("it went on");
}

/// Lets several coroutines wait with `wait`, and ends the engine. Checks that none of them is left.
template <class Wait> void end_while_they_wait(wait_kind kind, const Wait& wait) {
  std::atomic<int> alive{0};
  engine e(small_profile(2));
  std::vector<future<void>> results;
  for (int i = 0; i < several; ++i) results.push_back(e.run(waits(wait, token(alive))));
  wait_until_suspended(e, several);
  CHECK(e.dump().in_flight == several);
  const shutdown_report report = e.shutdown(0ms);
  REQUIRE(report.suspended.size() == 1);
  CHECK(report.suspended[0].kind == kind);
  CHECK(report.suspended[0].coroutines == several);
  CHECK_FALSE(report.clean());
  if (report.running.empty()) CHECK(report.dropped == several); // else a thread has not left yet
  for (future<void>& f : results) CHECK_THROWS_AS(f.get(), not_run);
  wait_until_none(alive);
  e.drain();
  CHECK(e.dump().suspended.empty());
}

/// Does the same with a stop token that no thread stops.
template <class Wait> void end_while_they_wait_stoppably(wait_kind kind, const Wait& wait) {
  const std::stop_source nobody;
  end_while_they_wait(kind, [&] { return wait(nobody.get_token()); });
}

} // namespace

TEST_CASE("shutdown: a waiter of an event is dropped, and the event is as good as new") {
  event e;
  end_while_they_wait(wait_kind::event, [&] { return e.wait(); });
  end_while_they_wait_stoppably(wait_kind::event, [&](std::stop_token t) { return e.wait(std::move(t)); });
  e.set();
  CHECK(e.is_set());
  engine next(small_profile(1));
  sync_wait(next, [](event& set) -> task<> { co_await set.wait(); }(e));
}

TEST_CASE("shutdown: a waiter of an auto_reset_event is dropped, and the event keeps its state") {
  auto_reset_event e;
  end_while_they_wait(wait_kind::auto_reset_event, [&] { return e.wait(); });
  end_while_they_wait_stoppably(wait_kind::auto_reset_event,
                                [&](std::stop_token t) { return e.wait(std::move(t)); });
  e.set();
  CHECK(e.is_set());
}

TEST_CASE("shutdown: a waiter of a semaphore is dropped, and takes no permit with it") {
  semaphore s(0);
  end_while_they_wait(wait_kind::semaphore, [&] { return s.acquire(); });
  end_while_they_wait_stoppably(wait_kind::semaphore,
                                [&](std::stop_token t) { return s.acquire(std::move(t)); });
  s.release(several);
  CHECK(s.available() == several);
}

TEST_CASE("shutdown: a waiter of a mutex is dropped, and the mutex is free when it is unlocked") {
  mutex m;
  REQUIRE(m.try_lock());
  end_while_they_wait(wait_kind::mutex, [&] { return m.lock(); });
  end_while_they_wait_stoppably(wait_kind::mutex, [&](std::stop_token t) { return m.lock(std::move(t)); });
  m.unlock();
  CHECK(m.try_lock());
  m.unlock();
}

TEST_CASE("shutdown: a waiter of a latch is dropped, and the latch goes on counting") {
  latch l(2);
  end_while_they_wait(wait_kind::latch, [&] { return l.wait(); });
  end_while_they_wait_stoppably(wait_kind::latch, [&](std::stop_token t) { return l.wait(std::move(t)); });
  l.count_down(2);
  CHECK(l.try_wait());
}

TEST_CASE("shutdown: a waiter at a barrier is dropped, and has not arrived") {
  barrier b(several + 1);
  end_while_they_wait(wait_kind::barrier, [&] { return b.arrive_and_wait(); });
  end_while_they_wait_stoppably(wait_kind::barrier,
                                [&](std::stop_token t) { return b.arrive_and_wait(std::move(t)); });
  engine next(small_profile(2));
  std::atomic<int> passed{0};
  const auto comes = [](barrier& at, std::atomic<int>& through) -> task<> {
    co_await at.arrive_and_wait();
    through.fetch_add(1);
  };
  for (int i = 0; i < several; ++i) REQUIRE(next.submit(comes(b, passed)) == submit_result::accepted);
  wait_until_suspended(next, several);
  CHECK(passed == 0);
  REQUIRE(next.submit(comes(b, passed)) == submit_result::accepted);
  next.drain();
  CHECK(passed == several + 1);
}

TEST_CASE("shutdown: waiting senders and receivers are dropped, and the channel is empty") {
  channel<int> c(0);
  end_while_they_wait(wait_kind::send, [&] { return c.send(1); });
  end_while_they_wait_stoppably(wait_kind::send, [&](std::stop_token t) { return c.send(1, std::move(t)); });
  CHECK_FALSE(c.try_receive());
  end_while_they_wait(wait_kind::receive, [&] { return c.receive(); });
  end_while_they_wait_stoppably(wait_kind::receive,
                                [&](std::stop_token t) { return c.receive(std::move(t)); });
  CHECK_FALSE(c.try_send(1));
  c.close();
}

TEST_CASE("shutdown: a waiter of a oneshot is dropped, and another coroutine may receive the value") {
  std::vector<oneshot_sender<int>> senders;
  std::vector<oneshot_receiver<int>> receivers;
  for (int i = 0; i < several; ++i) {
    auto halves = make_oneshot<int>();
    senders.push_back(std::move(halves.first));
    receivers.push_back(std::move(halves.second));
  }
  std::atomic<std::size_t> turn{0};
  end_while_they_wait(wait_kind::oneshot, [&] { return receivers.at(turn.fetch_add(1)).receive(); });
  turn = 0;
  end_while_they_wait_stoppably(wait_kind::oneshot, [&](std::stop_token t) {
    return receivers.at(turn.fetch_add(1)).receive(std::move(t));
  });
  engine next(small_profile(1));
  const auto receives = [](oneshot_receiver<int>& from) -> task<int> { co_return co_await from.receive(); };
  for (std::size_t i = 0; i < receivers.size(); ++i) {
    senders[i].send(7);
    CHECK(sync_wait(next, receives(receivers[i])) == 7);
  }
}

TEST_CASE("shutdown: a waiter of a future is dropped, and the work on the other engine goes on") {
  engine other(small_profile(1));
  event goes_on;
  std::atomic<int> ended{0};
  const auto works = [](event& until, std::atomic<int>& n) -> task<int> {
    co_await until.wait();
    co_return n.fetch_add(1);
  };
  std::vector<future<int>> results;
  for (int i = 0; i < several; ++i) results.push_back(other.run(works(goes_on, ended)));
  std::atomic<std::size_t> turn{0};
  end_while_they_wait(wait_kind::future,
                      [&] { return std::move(results.at(turn.fetch_add(1))).operator co_await(); });
  goes_on.set();
  other.drain();
  CHECK(ended == several);
}

TEST_CASE("shutdown: a waiter of a future of the same engine is dropped together with the work") {
  event never;
  std::atomic<int> alive{0};
  engine e(small_profile(2));
  const auto awaits = [](engine& on, event& until, token held) -> task<> {
    future<void> inner = on.run(waits([&] { return until.wait(); }, token(held)));
    co_await std::move(inner);
    FAIL("it went on");
  };
  for (int i = 0; i < several; ++i)
    REQUIRE(e.submit(awaits(e, never, token(alive))) == submit_result::accepted);
  wait_until_suspended(e, 2 * several);
  const shutdown_report report = e.shutdown(0ms);
  CHECK(number(report.suspended, wait_kind::event) == several);
  CHECK(number(report.suspended, wait_kind::future) == several);
  wait_until_none(alive);
  e.drain();
}

TEST_CASE("shutdown: a parent that waits for children is dropped when they are, one by one") {
  event never;
  semaphore none(0);
  std::atomic<int> alive{0};
  engine e(small_profile(2));
  const auto ends = [](token) -> task<> { co_await yield(); };
  const auto forks = [&](token held) -> task<> {
    co_await when_all(waits([&] { return never.wait(); }, token(held)), ends(token(held)),
                      waits([&] { return none.acquire(); }, token(held)));
    FAIL("it went on");
  };
  const auto opens_scope = [&](token held) -> task<> {
    const auto body = [&](scope& s) -> task<> {
      s.fork(waits([&] { return never.wait(); }, token(held)));
      s.fork(ends(token(held)));
      s.fork(forks(token(held))); // contains a join
      co_await none.acquire();
    };
    co_await in_scope(body);
    FAIL("it went on");
  };
  future<void> forked = e.run(forks(token(alive)));
  future<void> scoped = e.run(opens_scope(token(alive)));
  wait_until_suspended(e, 2 + 4);
  const shutdown_report report = e.shutdown(0ms);
  CHECK(number(report.suspended, wait_kind::event) == 3);
  CHECK(number(report.suspended, wait_kind::semaphore) == 3);
  if (report.running.empty()) CHECK(report.dropped == 2); // two tasks, with their children
  CHECK_THROWS_AS(forked.get(), not_run);
  CHECK_THROWS_AS(scoped.get(), not_run);
  wait_until_none(alive);
  none.release();
  CHECK(none.available() == 1);
}

TEST_CASE("shutdown: coroutines that a dropped coroutine lets go on are dropped as well") {
  event never;
  mutex m;
  channel<int> c(1);
  std::atomic<int> alive{0};
  engine e(small_profile(2));
  struct closes {
    channel<int>& at_end;
    ~closes() { at_end.close(); }
  };
  const auto holds = [](event& until, mutex& locks, channel<int>& ends, token) -> task<> {
    const closes closing{ends};
    const mutex_guard lock = co_await locks.lock();
    co_await until.wait();
    FAIL("it went on");
  };
  REQUIRE(e.submit(holds(never, m, c, token(alive))) == submit_result::accepted);
  wait_until_suspended(e, 1);
  for (int i = 0; i < several; ++i) {
    REQUIRE(e.submit(waits([&] { return m.lock(); }, token(alive))) == submit_result::accepted);
    REQUIRE(e.submit(waits([&] { return c.receive(); }, token(alive))) == submit_result::accepted);
  }
  wait_until_suspended(e, 1 + 2 * several);
  const shutdown_report report = e.shutdown(0ms);
  CHECK(number(report.suspended, wait_kind::mutex) == several);
  CHECK(number(report.suspended, wait_kind::receive) == several);
  if (report.running.empty()) CHECK(report.dropped == 1 + 2 * several);
  wait_until_none(alive);
  CHECK(c.closed());
  CHECK(m.try_lock());
  m.unlock();
}

TEST_CASE("shutdown: while a task runs, no coroutine is dropped that the task may wake") {
  for (const bool sends : {true, false}) {
    CAPTURE(sends);
    std::atomic<int> alive{0};
    auto held = std::make_shared<gate>();
    engine e(small_profile(2));
    const auto asks = [&](token) -> task<> {
      event answer; // lies in this frame, and the task that runs uses it
      const submit_result asked = e.submit([&answer, held, sends] {
        held->pass();
        if (sends) answer.set();
      });
      if (asked == submit_result::accepted) co_await answer.wait();
      FAIL("it went on");
    };
    REQUIRE(e.submit(asks(token(alive))) == submit_result::accepted);
    held->wait_for(1);
    wait_until_suspended(e, 1);
    const shutdown_report report = e.shutdown(10ms);
    CHECK(report.running.size() >= 1);
    CHECK(number(report.suspended, wait_kind::event) == 1);
    CHECK(report.dropped == 0);
    CHECK(alive == 1);
    held->open();
    wait_until_none(alive);
    e.drain();
    CHECK(e.metrics().in_flight() == 0);
  }
}

TEST_CASE("destructor: the thread of a task that outlives its engine destroys the coroutines that the task "
          "leaves suspended") {
  event never;
  std::atomic<int> alive{0};
  auto held = std::make_shared<gate>();
  const auto late = [](event& until, std::shared_ptr<gate> at, token) -> task<> {
    at->pass();
    co_await until.wait();
    FAIL("it went on");
  };
  {
    engine e(small_profile(1));
    REQUIRE(e.submit(late(never, held, token(alive))) == submit_result::accepted);
    held->wait_for(1);
    CHECK(e.shutdown(0ms).running.size() == 1);
  }
  CHECK(alive == 1);
  held->open();
  wait_until_none(alive);
}
