// A wait that was granted, and then told to stop before its coroutine went on, gives back what it got.

#include "small_engine.hpp"
#include "suspended.hpp"

#include <corewise/engine/channel.hpp>
#include <corewise/engine/event.hpp>
#include <corewise/engine/mutex.hpp>
#include <corewise/engine/semaphore.hpp>
#include <corewise/engine/sync_wait.hpp>

#include <doctest/doctest.h>

using namespace corewise;
using namespace corewise::tests;

namespace {

/// Lets `waits(token)` wait on the only worker of an engine, and then lets a task call `grant` and stop it.
/// Returns the result of the wait.
template <class Waits, class Grant> auto granted_and_stopped(const Waits& waits, const Grant& grant) {
  engine e(small_profile(1));
  std::stop_source stop;
  auto result = e.run(waits(stop.get_token()));
  wait_until_suspended(e, 1);
  e.run([&] {
     grant(); // the coroutine is the next to run here
     stop.request_stop();
   }).get();
  return result.get();
}

} // namespace

TEST_CASE("stopped after the grant: a permit goes to the next that waits") {
  semaphore s(0);
  engine e(small_profile(1));
  std::stop_source stop;
  const auto stoppable = [&]() -> task<bool> { co_return co_await s.acquire(stop.get_token()); };
  const auto waits = [&]() -> task<> { co_await s.acquire(); };
  future<bool> first = e.run(stoppable());
  wait_until_suspended(e, 1);
  future<void> second = e.run(waits());
  wait_until_suspended(e, 2);
  e.run([&] {
     s.release();
     stop.request_stop();
   }).get();
  CHECK_FALSE(first.get());
  second.get();
  CHECK(s.available() == 0);
}

TEST_CASE("stopped after the grant: a mutex is free again, and an auto_reset_event is set once") {
  mutex m;
  REQUIRE(m.try_lock());
  const auto locks = [&](std::stop_token t) -> task<bool> {
    const mutex_guard guard = co_await m.lock(std::move(t));
    co_return static_cast<bool>(guard);
  };
  CHECK_FALSE(granted_and_stopped(locks, [&] { m.unlock(); }));
  CHECK(m.try_lock());
  m.unlock();

  auto_reset_event happens;
  const auto waits = [&](std::stop_token t) -> task<bool> { co_return co_await happens.wait(std::move(t)); };
  CHECK_FALSE(granted_and_stopped(waits, [&] {
    happens.set();
    happens.set();
  }));
  CHECK(happens.is_set());
  CHECK(sync_wait(happens.wait(std::stop_token())));
  CHECK_FALSE(happens.is_set());
}

TEST_CASE("stopped after the grant: an event stays set, and its waiter went on because of it") {
  event happens;
  const auto waits = [&](std::stop_token t) -> task<bool> { co_return co_await happens.wait(std::move(t)); };
  CHECK(granted_and_stopped(waits, [&] { happens.set(); }));
}

TEST_CASE("stopped after the grant: a value goes to the front of its channel") {
  channel<int> c(2);
  const auto receives = [&](std::stop_token t) -> task<std::optional<int>> {
    co_return co_await c.receive(std::move(t));
  };
  CHECK_FALSE(granted_and_stopped(receives, [&] {
    CHECK(c.try_send(1));
    CHECK(c.try_send(2));
  }));
  CHECK(c.try_receive() == 1);
  CHECK(c.try_receive() == 2);
}

TEST_CASE("stopped after the grant: a value for which the channel has no room is received") {
  channel<int> c(1);
  const auto receives = [&](std::stop_token t) -> task<std::optional<int>> {
    co_return co_await c.receive(std::move(t));
  };
  const std::optional<int> got = granted_and_stopped(receives, [&] {
    CHECK(c.try_send(1));
    CHECK(c.try_send(2));
  });
  CHECK(got == 1);
  CHECK(c.try_receive() == 2);
}

TEST_CASE("stopped after the grant: a value goes to the receiver that waits next") {
  channel<int> c(0);
  engine e(small_profile(1));
  std::stop_source stop;
  const auto stoppable = [&]() -> task<std::optional<int>> {
    co_return co_await c.receive(stop.get_token());
  };
  const auto receives = [&]() -> task<std::optional<int>> { co_return co_await c.receive(); };
  future<std::optional<int>> first = e.run(stoppable());
  wait_until_suspended(e, 1);
  future<std::optional<int>> second = e.run(receives());
  wait_until_suspended(e, 2);
  e.run([&] {
     CHECK(c.try_send(7));
     stop.request_stop();
   }).get();
  CHECK_FALSE(first.get());
  CHECK(second.get() == 7);
}
