// `select`: of several waits exactly one happens.

#include "outside.hpp"
#include "small_engine.hpp"
#include "suspended.hpp"

#include <corewise/engine/channel.hpp>
#include <corewise/engine/event.hpp>
#include <corewise/engine/mutex.hpp>
#include <corewise/engine/select.hpp>
#include <corewise/engine/semaphore.hpp>
#include <corewise/engine/sleep.hpp>
#include <corewise/engine/when_any.hpp>
#include <corewise/engine/yield.hpp>

#include <doctest/doctest.h>

#include <array>
#include <memory>
#include <random>
#include <thread>
#include <vector>

using namespace corewise;
using namespace corewise::tests;
using namespace std::chrono_literals;

namespace {

/// Sends so many values from this thread, in bursts, and closes the channel.
void send_in_bursts(channel<int>& to, int values) {
  for (int i = 0; i < values; ++i) {
    while (!to.try_send(int{i})) std::this_thread::yield();
    if (i % 16 == 0) std::this_thread::sleep_for(30us);
  }
  to.close();
}

/// All that a race may wait for.
struct parts {
  channel<int> from{2};
  channel<int> to{2};
  semaphore permits{0};
  event happens;
  mutex alone;
};

/// Returns the index of the part that won.
task<std::size_t> races(parts& of) {
  const auto r = co_await select(of.from.receive(), of.to.send(1), of.permits.acquire(), of.happens.wait(),
                                 of.alone.lock(), sleep_for(1h));
  co_return r.index();
}

/// Fills and takes everything, so that a race would have to wait.
void take_all(parts& of) {
  REQUIRE(of.to.try_send(0));
  REQUIRE(of.to.try_send(0));
  REQUIRE(of.alone.try_lock());
}

/// Makes a part of the race possible.
void allow(parts& of, std::size_t part) {
  switch (part) {
  case 0: REQUIRE(of.from.try_send(7)); break;
  case 1: REQUIRE(of.to.try_receive() == 0); break;
  case 2: of.permits.release(); break;
  case 3: of.happens.set(); break;
  default: of.alone.unlock();
  }
}

/// Checks that nothing has happened but that `part` has won.
void check_only(parts& of, std::size_t part) {
  CHECK_FALSE(of.from.try_receive());
  CHECK(of.to.try_receive() == 0);
  CHECK(of.to.try_receive() == (part == 1 ? 1 : 0));
  CHECK_FALSE(of.to.try_receive());
  CHECK_FALSE(of.permits.try_acquire());
  CHECK(of.happens.is_set() == (part == 3));
  CHECK(of.alone.try_lock() == (part == 4)); // the guard was in the result
}

/// Sends to one channel and receives from another, whichever is possible, until it has done both so often.
task<> exchanges(channel<int>& out, channel<int>& in, int times, std::atomic<int>& received) {
  int sent = 0;
  int got = 0;
  while (sent < times || got < times) {
    if (sent == times) {
      const auto value = co_await in.receive();
      CHECK(value);
      ++got;
    } else if (got == times) {
      co_await out.send(1);
      ++sent;
    } else {
      const auto r = co_await select(out.send(1), in.receive());
      ++(r.index() == 0 ? sent : got);
    }
  }
  received += got;
}

} // namespace

TEST_CASE("select: takes the one that is possible, and nothing of the others") {
  for (std::size_t part = 0; part < 5; ++part) {
    CAPTURE(part);
    parts of;
    take_all(of);
    allow(of, part);
    engine e(small_profile(1));
    CHECK(sync_wait(e, races(of)) == part);
    check_only(of, part);
  }
}

TEST_CASE("select: waits for the first that becomes possible, and takes nothing of the others") {
  for (std::size_t part = 0; part < 5; ++part) {
    CAPTURE(part);
    parts of;
    take_all(of);
    engine e(small_profile(2));
    future<std::size_t> won = e.run(races(of));
    wait_until_suspended(e, 5);
    allow(of, part);
    CHECK(won.get() == part);
    e.drain();
    check_only(of, part);
    CHECK(e.metrics().timers_pending == 0);
    CHECK(e.dump().suspended.empty());
  }
}

TEST_CASE("select: a sleep ends the race, and what comes later is not taken") {
  parts of;
  take_all(of);
  engine e(small_profile(2));
  const auto waits = [&]() -> task<std::size_t> {
    const auto r = co_await select(of.permits.acquire(), sleep_for(2ms), of.from.receive());
    co_return r.index();
  };
  CHECK(sync_wait(e, waits()) == 1);
  of.permits.release();
  CHECK(of.permits.available() == 1);
  CHECK(of.from.try_send(1));
  CHECK(of.from.try_receive() == 1);
}

TEST_CASE("select: a sleep alone, two sleeps, and a past one") {
  engine e(small_profile(1));
  const auto sleeps = []() -> task<std::size_t> {
    const auto one = co_await select(sleep_for(1ms));
    CHECK(one.index() == 0);
    const auto past = co_await select(sleep_for(1h), sleep_for(0ms));
    CHECK(past.index() == 1);
    const auto two = co_await select(sleep_for(1h), sleep_for(1ms));
    co_return two.index();
  };
  CHECK(sync_wait(e, sleeps()) == 1);
  CHECK(e.metrics().timers_pending == 0);
}

TEST_CASE("select: a closed channel is ready") {
  engine e(small_profile(2));
  channel<int> c(1);
  semaphore never(0);
  const auto receives = [&]() -> task<bool> {
    const auto r = co_await select(never.acquire(), c.receive());
    co_return r.index() == 1 && !std::get<1>(r);
  };
  const auto sends = [&]() -> task<bool> {
    const auto r = co_await select(never.acquire(), c.send(1));
    co_return r.index() == 1 && !std::get<1>(r);
  };
  future<bool> waiting = e.run(receives());
  wait_until_suspended(e, 2);
  c.close();
  CHECK(waiting.get());
  CHECK(sync_wait(e, receives()));
  CHECK(sync_wait(e, sends()));
}

TEST_CASE("select: values move, and a value that was not sent is still there") {
  engine e(small_profile(1));
  channel<std::unique_ptr<int>> in(1);
  channel<std::unique_ptr<int>> out(1);
  CHECK(out.try_send(nullptr)); // no room
  CHECK(in.try_send(std::make_unique<int>(7)));
  const auto moves = [&]() -> task<int> {
    auto mine = std::make_unique<int>(8);
    auto r = co_await select(out.send(std::move(mine)), in.receive());
    CHECK(r.index() == 1);
    CHECK(mine);
    co_return **std::get<1>(r) + *mine;
  };
  CHECK(sync_wait(e, moves()) == 15);
}

TEST_CASE("select: of two that are always possible, neither is left out") {
  engine e(small_profile(1));
  semaphore a(100'000);
  semaphore b(100'000);
  const auto takes = [&]() -> task<std::array<int, 2>> {
    std::array<int, 2> taken{};
    for (int i = 0; i < 2000; ++i) {
      const auto r = co_await select(a.acquire(), b.acquire());
      ++taken.at(r.index());
    }
    co_return taken;
  };
  const std::array<int, 2> taken = sync_wait(e, takes());
  CHECK(taken[0] > 500);
  CHECK(taken[1] > 500);
}

TEST_CASE("select: a receiver that races with a timer loses no value") {
  engine e;
  channel<int> c(16);
  const auto receives = [&]() -> task<int> {
    for (int got = 0;;) {
      const auto r = co_await select(c.receive(), sleep_for(20us));
      if (r.index() == 1) continue;
      if (!std::get<0>(r)) co_return got;
      ++got;
    }
  };
  future<int> got = e.run(receives());
  send_in_bursts(c, 20'000);
  CHECK(got.get() == 20'000);
}

TEST_CASE("when_any: a receiver that races with a timer loses no value, if the losers' values count") {
  engine e;
  channel<int> c(16);
  const auto receives = [&]() -> task<int> {
    const auto value = [&](std::stop_token t) -> task<std::optional<int>> {
      const auto v = co_await c.receive(std::move(t));
      co_return v;
    };
    const auto timeout = [](std::stop_token t) -> task<> { co_await sleep_for(20us, std::move(t)); };
    int got = 0;
    while (!c.closed()) {
      const auto r = co_await when_any(value, timeout);
      if (std::get<0>(r.all).value()) ++got;
    }
    while (c.try_receive()) ++got;
    co_return got;
  };
  future<int> got = e.run(receives());
  send_in_bursts(c, 20'000);
  CHECK(got.get() == 20'000);
}

TEST_CASE("select: two races that face each other make progress, with room and without") {
  constexpr int times = 3000;
  for (const std::size_t room : {0U, 1U}) {
    CAPTURE(room);
    channel<int> there(room);
    channel<int> back(room);
    std::atomic<int> received{0};
    engine e(small_profile(2));
    future<void> one = e.run(exchanges(there, back, times, received));
    future<void> other = e.run(exchanges(back, there, times, received));
    one.get();
    other.get();
    CHECK(received == 2 * times);
  }
}

TEST_CASE("select: races that send and receive on one channel meet each other, never themselves") {
  engine e(small_profile(2));
  channel<int> c(0);
  const auto alone = [&]() -> task<std::size_t> {
    const auto r = co_await select(c.send(1), c.receive(), sleep_for(2ms));
    co_return r.index();
  };
  CHECK(sync_wait(e, alone()) == 2);
  constexpr int times = 2000;
  std::atomic<int> sent{0};
  std::atomic<int> received{0};
  const auto both = [&]() -> task<> {
    for (int i = 0; i < times; ++i) {
      const auto r = co_await select(c.send(1), c.receive(), sleep_for(1s));
      if (r.index() < 2) ++(r.index() == 0 ? sent : received);
      if (r.index() == 2) break; // the others have ended
    }
  };
  std::vector<future<void>> all;
  for (int i = 0; i < 4; ++i) all.push_back(e.run(both()));
  for (future<void>& f : all) f.get();
  CHECK(sent == received);
  CHECK(sent + received >= 3 * times);
}

TEST_CASE("select: permits and values that many races fight for are neither lost nor doubled") {
  constexpr int each = 3000;
  engine e(small_profile(3));
  semaphore permits(2);
  channel<int> c(1);
  std::atomic<int> sent{0};
  std::atomic<int> received{0};
  std::atomic<int> inside{0};
  std::atomic<bool> too_many{false};
  const auto races_for_both = [&](std::uint32_t seed) -> task<> {
    std::mt19937 random(seed);
    for (int i = 0; i < each; ++i) {
      const auto r = co_await select(permits.acquire(), c.receive(), c.send(1), sleep_for(100us));
      if (r.index() == 1) ++received;
      if (r.index() == 2) ++sent;
      if (r.index() != 0) continue;
      if (++inside > 2) too_many = true;
      if (random() % 4 == 0) co_await yield();
      --inside;
      permits.release();
    }
  };
  std::vector<future<void>> all;
  for (std::uint32_t i = 0; i < 6; ++i) all.push_back(e.run(races_for_both(i)));
  for (future<void>& f : all) f.get();
  while (c.try_receive()) ++received;
  CHECK(sent == received);
  CHECK_FALSE(too_many);
  CHECK(permits.available() == 2);
  CHECK(e.dump().suspended.empty());
}

TEST_CASE("select: a race that an engine does not run waits, and goes on where it is let go on") {
  semaphore s(0);
  event never;
  std::size_t won = 9;
  const outside race([](semaphore& from, event& other, std::size_t& out) -> task<> {
    const auto r = co_await select(other.wait(), from.acquire());
    out = r.index();
  }(s, never, won));
  CHECK(won == 9);
  s.release();
  CHECK(won == 1);
}
