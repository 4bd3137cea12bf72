// Threads that wait by `sync_wait`: when they go on, and in which order.

#include "outside.hpp"
#include "small_engine.hpp"
#include "wait_until.hpp"

#include <corewise/engine/barrier.hpp>
#include <corewise/engine/channel.hpp>
#include <corewise/engine/engine.hpp>
#include <corewise/engine/event.hpp>
#include <corewise/engine/latch.hpp>
#include <corewise/engine/mutex.hpp>
#include <corewise/engine/oneshot.hpp>
#include <corewise/engine/semaphore.hpp>
#include <corewise/engine/sync_wait.hpp>
#include <corewise/engine/yield.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" // the one-piece oneshot

using namespace corewise;
using namespace corewise::tests;

namespace {

template <class A>
concept can_be_waited_for = requires(A&& a) { sync_wait(static_cast<A&&>(a)); };
static_assert(can_be_waited_for<decltype(std::declval<mutex&>().lock())>);
static_assert(can_be_waited_for<decltype(std::declval<oneshot<int>&>().receive())>);
static_assert(!can_be_waited_for<task<>>);
static_assert(!can_be_waited_for<task<int>>);
static_assert(!can_be_waited_for<yield>);

/// Wraps an awaitable, and tells when the wait for it has begun.
template <class A> struct announced {
  using threads_may_wait = void;
  A& inner;
  std::atomic<int>& begun;

  bool await_ready() { return inner.await_ready(); }
  bool await_suspend(std::coroutine_handle<> h) {
    std::atomic<int>& told = begun; // this object may be gone then
    const bool waits = inner.await_suspend(h);
    told.fetch_add(1);
    told.notify_all();
    return waits;
  }
  decltype(auto) await_resume() { return inner.await_resume(); }
};

template <class A> decltype(auto) sync_wait_announced(A&& awaited, std::atomic<int>& begun) {
  return sync_wait(announced<std::remove_reference_t<A>>{awaited, begun});
}

/// Returns a reference to the value, which is moved from only when a receiver takes it.
template <class T> T&& lent(T& value) noexcept { return static_cast<T&&>(value); }

/// Keeps the letters that several threads say, one after another.
class words {
 public:
  void say(char c) {
    {
      const std::scoped_lock lock(mutex_);
      text_ += c;
    }
    said_.fetch_add(1);
    said_.notify_all();
  }
  std::string after(int number) {
    wait_until(said_, number);
    const std::scoped_lock lock(mutex_);
    return text_;
  }

 private:
  std::mutex mutex_;
  std::string text_;
  std::atomic<int> said_{0};
};

template <class Wait> task<> waits_and_says(Wait& wait, words& out, char c) {
  co_await wait();
  out.say(c);
}

/// Lets threads and coroutines wait in turn. Checks that each `give` goes to the one that has waited longest.
template <class Wait, class Give> void check_order(Wait wait, Give give) {
  words out;
  std::atomic<int> begun{0};
  const auto waiting_thread = [&](char c) {
    return std::thread([&, c] {
      sync_wait_announced(wait(), begun);
      out.say(c);
    });
  };
  std::thread a = waiting_thread('a');
  wait_until(begun, 1);
  const outside b(waits_and_says(wait, out, 'b'));
  std::thread c = waiting_thread('c');
  wait_until(begun, 2);
  std::thread d = waiting_thread('d');
  wait_until(begun, 3);
  const outside f(waits_and_says(wait, out, 'f'));
  const std::string all = "abcdf";
  for (std::size_t i = 0; i <= all.size(); ++i) {
    CHECK(out.after(static_cast<int>(i)) == all.substr(0, i));
    if (i < all.size()) give();
  }
  for (std::thread* t : {&a, &c, &d}) t->join();
}

} // namespace

TEST_CASE("sync_wait: it returns at once if the awaited thing is there, or if a stop came before") {
  std::stop_source stopped;
  stopped.request_stop();
  const std::stop_token stop = stopped.get_token();

  event e(true);
  sync_wait(e.wait());
  CHECK(sync_wait(e.wait(stop)));
  e.reset();
  CHECK_FALSE(sync_wait(e.wait(stop)));
  semaphore s(1);
  CHECK(sync_wait(s.acquire(stop)));
  CHECK_FALSE(sync_wait(s.acquire(stop)));
  mutex m;
  {
    const mutex_guard lock = sync_wait(m.lock());
    CHECK(static_cast<bool>(lock));
    CHECK_FALSE(static_cast<bool>(sync_wait(m.lock(stop))));
  }
  CHECK(m.try_lock());
  m.unlock();
  latch l(0);
  sync_wait(l.wait());
  barrier b(1);
  sync_wait(b.arrive_and_wait());
  channel<std::unique_ptr<int>> c(1);
  CHECK(sync_wait(c.send(std::make_unique<int>(7))));
  auto kept = std::make_unique<int>(8);
  CHECK_FALSE(sync_wait(c.send(lent(kept), stop)));
  CHECK(*kept == 8);
  CHECK(**sync_wait(c.receive()) == 7);
  CHECK_FALSE(sync_wait(c.receive(stop)));
  oneshot<int> shot;
  CHECK(sync_wait(shot.receive(stop)) == std::nullopt);
  shot.send(9);
  CHECK(sync_wait(shot.receive()) == 9);
}

TEST_CASE("sync_wait: threads and coroutines go on in the order in which they came") {
  semaphore s(0);
  check_order([&] { return s.acquire(); }, [&] { s.release(); });
  auto_reset_event e;
  check_order([&] { return e.wait(); }, [&] { e.set(); });
  for (const std::size_t capacity : {0U, 3U}) {
    channel<int> c(capacity);
    check_order([&] { return c.receive(); }, [&] { REQUIRE(c.try_send(1)); });
    while (c.try_send(0)) {
    }
    const int value = 1;
    check_order([&] { return c.send(value); }, [&] { REQUIRE(c.try_receive()); });
  }
}

TEST_CASE("sync_wait: a mutex is handed from threads to coroutines and back") {
  mutex m;
  words out;
  std::atomic<int> begun{0};
  const auto locks = [&](char c) -> task<> {
    const mutex_guard lock = co_await m.lock();
    out.say(c);
  };
  const auto locking_thread = [&](char c) {
    return std::thread([&, c] {
      const mutex_guard lock = sync_wait_announced(m.lock(), begun);
      out.say(c);
    });
  };
  REQUIRE(m.try_lock());
  std::thread a = locking_thread('a');
  wait_until(begun, 1);
  const outside b(locks('b'));
  std::thread c = locking_thread('c');
  wait_until(begun, 2);
  m.unlock();
  CHECK(out.after(3) == "abc");
  a.join();
  c.join();
  CHECK(m.try_lock());
  m.unlock();
}

TEST_CASE("sync_wait: all waiters of an event or a latch go on, when a thread or a task opens it") {
  engine e(small_profile(2));
  event happens;
  latch done(2);
  words out;
  std::atomic<int> begun{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      sync_wait_announced(happens.wait(), begun);
      out.say('e');
      sync_wait(done.wait());
      out.say('l');
    });
  const auto waits = [&]() -> task<> {
    co_await happens.wait();
    out.say('e');
    co_await done.wait();
    out.say('l');
  };
  for (int i = 0; i < 3; ++i) REQUIRE(e.submit(waits()) == submit_result::accepted);
  wait_until(begun, 3);
  e.run([&] { happens.set(); }).get();
  CHECK(out.after(6) == "eeeeee");
  done.count_down();
  e.run([&] { done.count_down(); }).get();
  CHECK(out.after(12) == "eeeeeellllll");
  for (std::thread& t : threads) t.join();
  e.drain();
}

TEST_CASE("sync_wait: a stop wakes its own thread, and the others go on waiting") {
  semaphore s(0);
  std::atomic<int> begun{0};
  std::stop_source stop;
  std::atomic<int> got{0};
  std::thread first([&] {
    sync_wait_announced(s.acquire(), begun);
    ++got;
  });
  wait_until(begun, 1);
  std::thread stopped([&] { CHECK_FALSE(sync_wait_announced(s.acquire(stop.get_token()), begun)); });
  wait_until(begun, 2);
  std::thread last([&] { got += sync_wait_announced(s.acquire(std::stop_token()), begun) ? 1 : 0; });
  wait_until(begun, 3);
  stop.request_stop();
  stopped.join();
  CHECK(got == 0);
  s.release(2);
  first.join();
  last.join();
  CHECK(got == 2);
  CHECK(s.available() == 0);
}

TEST_CASE("sync_wait: a closed channel gives threads the same answer as coroutines") {
  channel<std::unique_ptr<int>> c(1);
  std::atomic<int> begun{0};
  std::thread receives([&] {
    CHECK(**sync_wait_announced(c.receive(), begun) == 1);
    CHECK_FALSE(sync_wait_announced(c.receive(), begun));
  });
  wait_until(begun, 1);
  REQUIRE(c.try_send(std::make_unique<int>(1)));
  wait_until(begun, 2);
  c.close();
  receives.join();

  channel<std::unique_ptr<int>> full(0);
  std::thread sends([&] {
    auto value = std::make_unique<int>(2);
    CHECK_FALSE(sync_wait_announced(full.send(lent(value)), begun));
    CHECK(*value == 2); // the caller still has it
  });
  wait_until(begun, 3);
  full.close();
  sends.join();
}

TEST_CASE("sync_wait: a oneshot may be destroyed as soon as its value has come") {
  engine e(small_profile(2));
  for (int i = 0; i < 500; ++i) {
    const auto shot = std::make_unique<oneshot<std::string>>();
    REQUIRE(e.submit([to = shot.get()] { to->send("a value"); }) == submit_result::accepted);
    CHECK(sync_wait(shot->receive()) == "a value");
  }
  struct fails_to_move {
    fails_to_move() = default;
    fails_to_move(fails_to_move&& /*other*/) noexcept(false) { throw std::runtime_error("moved"); }
    fails_to_move& operator=(fails_to_move&&) = delete;
    ~fails_to_move() = default;
  };
  oneshot<fails_to_move> shot;
  std::thread sends([&] { shot.send(); });
  CHECK_THROWS_WITH_AS(sync_wait(shot.receive()), "moved", std::runtime_error);
  sends.join();
}

TEST_CASE("sync_wait: an event may be destroyed as soon as the thread goes on") {
  std::atomic<event*> next{nullptr};
  constexpr int rounds = 2000;
  std::thread sets([&] {
    for (int i = 0; i < rounds; ++i) {
      next.wait(nullptr);
      next.exchange(nullptr)->set();
    }
  });
  for (int i = 0; i < rounds; ++i) {
    const auto happens = std::make_unique<event>();
    next.store(happens.get());
    next.notify_all();
    sync_wait(happens->wait());
  }
  sets.join();
}

TEST_CASE("sync_wait: while a plain task sleeps, a spare thread works on its seat") {
  engine e(small_profile(1));
  event happens;
  std::atomic<int> begun{0};
  future<bool> waits = e.run([&] {
    sync_wait_announced(happens.wait(), begun);
    return true;
  });
  wait_until(begun, 1);
  e.run([&] { happens.set(); }).get(); // this task runs on the only worker
  CHECK(waits.get());
  CHECK(e.metrics().total().taken_seats >= 1);
  CHECK(e.metrics().total().blocking_calls == 1);
}

TEST_CASE(
    "sync_wait: a call in a coroutine is an error that names co_await, unless it is within a blocking call") {
  engine e(small_profile(2));
  event happens(true);
  const auto misuse = [&]() -> task<> {
    sync_wait(happens.wait());
    co_return;
  };
  CHECK_THROWS_AS(sync_wait(e, misuse()), std::logic_error);
  happens.reset();
  std::atomic<int> begun{0};
  const auto in_blocking = [&]() -> task<bool> {
    blocking([&] { sync_wait_announced(happens.wait(), begun); });
    co_await yield();
    co_return e.this_worker().has_value();
  };
  future<bool> waits = e.run(in_blocking());
  wait_until(begun, 1);
  happens.set();
  CHECK(waits.get());
}
