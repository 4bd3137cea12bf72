#include "small_engine.hpp"

#include <corewise/engine/engine.hpp>
#include <corewise/engine/mutex.hpp>
#include <corewise/engine/oneshot.hpp>
#include <corewise/engine/when_all.hpp>

#include <doctest/doctest.h>

#include <deque>
#include <utility>

// Built without optimization, and with little: there the compiler may leave transfers without tail calls.

using namespace corewise;

namespace {

task<int> one() { co_return 1; }

task<long> many_awaits(int n) {
  long sum = 0;
  for (int i = 0; i < n; ++i) sum += co_await one();
  co_return sum;
}

task<long> many_forks(int n) {
  long sum = 0;
  for (int i = 0; i < n; ++i) {
    auto [a, b] = co_await when_all(one(), one());
    sum += a + b;
  }
  co_return sum;
}

task<long> deep(int n) {
  if (n == 0) co_return 0;
  const long below = co_await deep(n - 1);
  co_return below + 1;
}

task<long> deep_fork(int n) {
  if (n == 0) co_return 0;
  auto [below, here] = co_await when_all(deep_fork(n - 1), one());
  co_return below + here;
}

/// A coroutine that is resumed outside of an engine, where only the sender drives it.
task<long> after(oneshot_receiver<int> start, int n) {
  co_await start.receive();
  co_return co_await many_awaits(n);
}

/// Another one: unlocking resumes the next in the line.
task<> in_turn(mutex& m, int& ran) {
  const mutex_guard lock = co_await m.lock();
  ++ran;
}

} // namespace

TEST_CASE("transfers: a million awaits and forks in a row need no more stack than one") {
  engine e(small_profile(1));
  CHECK(sync_wait(e, many_awaits(1'000'000)) == 1'000'000);
  CHECK(sync_wait(e, many_forks(300'000)) == 600'000);
}

TEST_CASE("transfers: a tree a hundred thousand deep needs no more stack than a flat one") {
  engine e(small_profile(2));
  CHECK(sync_wait(e, deep(100'000)) == 100'000);
  CHECK(sync_wait(e, deep_fork(100'000)) == 100'000);
}

TEST_CASE("transfers: coroutines that a thread outside of engines resumes need no more stack either") {
  auto [sender, start] = make_oneshot<int>();
  auto body = after(std::move(start), 1'000'000);
  auto&& awaiter = std::move(body).operator co_await();
  awaiter.await_suspend(std::noop_coroutine()).resume();
  sender.send(1);
  CHECK(awaiter.await_resume() == 1'000'000);
}

TEST_CASE(
    "transfers: a line of coroutines outside of engines, each of which resumes the next, takes no stack") {
  constexpr int number = 200'000;
  mutex m;
  int ran = 0;
  REQUIRE(m.try_lock());
  std::deque<task<>> line;
  for (int i = 0; i < number; ++i) {
    line.push_back(in_turn(m, ran));
    auto&& awaiter = std::move(line.back()).operator co_await();
    awaiter.await_suspend(std::noop_coroutine()).resume();
  }
  CHECK(ran == 0);
  m.unlock();
  CHECK(ran == number);
}
