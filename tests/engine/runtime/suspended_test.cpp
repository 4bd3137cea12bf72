#include "small_engine.hpp"
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
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <thread>
#include <vector>

// The end of an engine while coroutines are suspended.

using namespace corewise;
using namespace std::chrono_literals;

namespace {

constexpr int several = 3;

/// Waits, and then must not be reached.
template <class Wait> task<> waits(Wait wait, token /*held*/) {
  static_cast<void>(co_await wait());
  FAIL("it went on");
}

std::uint64_t number(const std::vector<suspended_in>& all, wait_kind kind) {
  for (const suspended_in& s : all)
    if (s.kind == kind) return s.coroutines;
  return 0;
}

std::uint64_t number(const std::vector<suspended_in>& all) {
  std::uint64_t sum = 0;
  for (const suspended_in& s : all) sum += s.coroutines;
  return sum;
}

void wait_until_suspended(engine& e, std::uint64_t coroutines) {
  while (number(e.dump().suspended) != coroutines) std::this_thread::yield();
}

void wait_until_none(const std::atomic<int>& alive) {
  while (alive != 0) std::this_thread::yield();
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
  std::array<oneshot<int>, several> shots;
  std::atomic<std::size_t> turn{0};
  end_while_they_wait(wait_kind::oneshot, [&] { return shots.at(turn.fetch_add(1)).receive(); });
  turn = 0;
  end_while_they_wait_stoppably(wait_kind::oneshot, [&](std::stop_token t) {
    return shots.at(turn.fetch_add(1)).receive(std::move(t));
  });
  engine next(small_profile(1));
  for (oneshot<int>& shot : shots) {
    shot.send(7);
    CHECK(sync_wait(next, [](oneshot<int>& from) -> task<int> { co_return co_await from.receive(); }(shot)) ==
          7);
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
      oneshot<int> answer; // lies in this frame, and the task that runs uses it
      const submit_result asked = e.submit([&answer, held, sends] {
        held->pass();
        if (sends) answer.send(1);
      });
      if (asked == submit_result::accepted) co_await answer.receive();
      FAIL("it went on");
    };
    REQUIRE(e.submit(asks(token(alive))) == submit_result::accepted);
    held->wait_for(1);
    wait_until_suspended(e, 1);
    const shutdown_report report = e.shutdown(10ms);
    CHECK(report.running.size() >= 1);
    CHECK(number(report.suspended, wait_kind::oneshot) == 1);
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

TEST_CASE("destructor: it logs the suspended coroutines") {
  event never;
  std::string heard;
  {
    engine_hooks hooks;
    hooks.log = [&](std::string_view line) { heard += line; };
    engine e(small_profile(1), hooks);
    REQUIRE(e.submit([](event& until) -> task<> { co_await until.wait(); }(never)) ==
            submit_result::accepted);
    wait_until_suspended(e, 1);
    static_cast<void>(e.shutdown(0ms));
  }
  CHECK(heard.find("coroutines that waited for event: 1") != std::string::npos);
}

TEST_CASE("dump: it counts suspended coroutines by wait kind, as text and JSON") {
  event go;
  semaphore none(0);
  engine e(small_profile(2));
  const auto both = [](event& first, semaphore& second) -> task<> {
    co_await first.wait();
    co_await second.acquire();
  };
  for (int i = 0; i < several; ++i) REQUIRE(e.submit(both(go, none)) == submit_result::accepted);
  wait_until_suspended(e, several);
  CHECK(e.dump().to_text().find("coroutines that wait for event: 3") != std::string::npos);
  go.set();
  while (number(e.dump().suspended, wait_kind::semaphore) != several) std::this_thread::yield();
  CHECK(nlohmann::json::parse(e.dump().to_json())["suspended"] == nlohmann::json{{"semaphore", several}});
  none.release(several);
  e.drain();
  CHECK(e.dump().suspended.empty());
  CHECK(e.shutdown(10s).clean());
}

TEST_CASE("dump: it counts no suspended coroutine after all have gone on, on any worker") {
  constexpr int pairs = 200; // more coroutines than threads keep free entries for
  constexpr int rounds = 200;
  channel<int> c(0);
  semaphore done(0);
  engine e(small_profile(3));
  const auto sends = [](channel<int>& to) -> task<> {
    for (int i = 0; i < rounds; ++i) co_await to.send(i);
  };
  const auto receives = [](channel<int>& from) -> task<> {
    for (int i = 0; i < rounds; ++i) static_cast<void>(co_await from.receive());
  };
  for (int i = 0; i < pairs; ++i) {
    REQUIRE(e.submit(receives(c)) == submit_result::accepted);
    REQUIRE(e.submit(sends(c)) == submit_result::accepted);
  }
  e.drain();
  CHECK(e.dump().suspended.empty());
}

namespace {

/// A coroutine of a foreign type: it runs at once, and its caller owns its frame.
struct eager {
  struct promise_type {
    eager get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    std::suspend_always final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept { std::terminate(); }
  };
  std::coroutine_handle<promise_type> frame;
};

eager waits_eagerly(event& until) { co_await until.wait(); }

} // namespace

TEST_CASE("dump: a coroutine whose frame was destroyed while it waited is not counted any more") {
  event never;
  engine e(small_profile(1));
  const auto destroys = [](event& until) -> task<> {
    const eager waiting = waits_eagerly(until);
    waiting.frame.destroy();
    co_return;
  };
  REQUIRE(e.submit(destroys(never)) == submit_result::accepted);
  e.drain();
  CHECK(e.dump().suspended.empty());
  CHECK(e.shutdown(10s).clean());
}

namespace {

/// All that a coroutine may wait for. Threads end the waits.
struct places {
  event all;
  auto_reset_event one;
  semaphore permits{0};
  mutex alone;
  latch down{3};
  channel<int> values{1};
  std::array<oneshot<int>, 4> shots;
  std::stop_source stop;
  std::atomic<std::size_t> shot{0};
  std::atomic<int> ended{0};
};

task<> waits_somewhere(places& at, std::uint32_t where, token held) {
  const std::stop_token stop = at.stop.get_token();
  switch (where % 9) {
  case 0: co_await at.all.wait(); break;
  case 1: co_await at.one.wait(stop); break;
  case 2: co_await at.permits.acquire(); break;
  case 3: {
    const mutex_guard lock = co_await at.alone.lock(stop);
    co_await at.all.wait(stop);
    break;
  }
  case 4: co_await at.down.wait(stop); break;
  case 5: static_cast<void>(co_await at.values.receive()); break;
  case 6: co_await at.values.send(1, stop); break;
  case 7: co_await when_all(waits_somewhere(at, 0, held), waits_somewhere(at, 2, held)); break;
  default: {
    const std::size_t mine = at.shot.fetch_add(1);
    if (mine < at.shots.size()) co_await at.shots[mine].receive(stop);
  }
  }
  at.ended.fetch_add(1);
}

void let_go(places& at, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::array<int, 8> turns{0, 1, 2, 3, 4, 5, 6, 7};
  std::shuffle(turns.begin(), turns.end(), random);
  for (const int turn : turns) {
    switch (turn) {
    case 0: at.all.set(); break;
    case 1: at.one.set(); break;
    case 2: at.permits.release(2); break;
    case 3: at.down.count_down(); break;
    case 4: static_cast<void>(at.values.try_send(1)); break;
    case 5: static_cast<void>(at.values.try_receive()); break;
    case 6:
      if (random() % 4 == 0) at.values.close();
      break;
    default:
      if (random() % 4 == 0) at.stop.request_stop();
    }
    for (auto pause = random() % 200; pause != 0; --pause)
      std::atomic_signal_fence(std::memory_order_seq_cst);
  }
}

} // namespace

TEST_CASE("shutdown: while threads wake waiters, each coroutine ends once or is destroyed once") {
  const std::uint64_t seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  int dropped = 0;
  int ended = 0;
  for (int round = 0; round < 300; ++round) {
    CAPTURE(round);
    places at;
    std::atomic<int> alive{0};
    {
      engine e(small_profile(2));
      for (int i = 0; i < 30; ++i)
        REQUIRE(e.submit(waits_somewhere(at, static_cast<std::uint32_t>(random()), token(alive))) ==
                submit_result::accepted);
      std::vector<std::thread> threads;
      for (int t = 0; t < 2; ++t) threads.emplace_back([&at, s = random()] { let_go(at, s); });
      threads.emplace_back([&at] {
        for (oneshot<int>& shot : at.shots) shot.send(1);
      });
      const shutdown_report report = e.shutdown(std::chrono::microseconds{random() % 100});
      for (std::thread& t : threads) t.join();
      dropped += static_cast<int>(report.dropped);
      wait_until_none(alive);
      e.drain();
      CHECK(e.dump().suspended.empty());
    }
    ended += at.ended;
  }
  MESSAGE("ended " << ended << ", dropped " << dropped);
}

TEST_CASE("shutdown: an engine may end while tasks of another engine wake its coroutines") {
  const std::uint64_t seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  engine wakes(small_profile(1));
  for (int round = 0; round < 200; ++round) {
    std::array<oneshot<int>, 20> shots;
    std::atomic<int> alive{0};
    {
      engine e(small_profile(1));
      const auto receives = [](oneshot<int>& from, token) -> task<> { co_await from.receive(); };
      for (oneshot<int>& shot : shots)
        REQUIRE(e.submit(receives(shot, token(alive))) == submit_result::accepted);
      REQUIRE(wakes.submit([&] {
        for (oneshot<int>& shot : shots) shot.send(1);
      }) == submit_result::accepted);
      static_cast<void>(e.shutdown(std::chrono::microseconds{random() % 50}));
      wakes.drain();
      wait_until_none(alive);
      e.drain();
    }
  }
}
