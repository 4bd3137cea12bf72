#include "outside.hpp"
#include "small_engine.hpp"

#include <corewise/engine/engine.hpp>
#include <corewise/engine/mutex.hpp>
#include <corewise/engine/yield.hpp>

#include <doctest/doctest.h>

#include <thread>
#include <vector>

using namespace corewise;

TEST_CASE("mutex: waiters get it in the order in which they came") {
  mutex m;
  std::string order;
  const auto locks = [](mutex& on, std::string& out, char c) -> task<> {
    const mutex_guard lock = co_await on.lock();
    out += c;
  };
  REQUIRE(m.try_lock());
  CHECK(!m.try_lock());
  outside a(locks(m, order, 'a'));
  outside b(locks(m, order, 'b'));
  outside c(locks(m, order, 'c'));
  CHECK(order.empty());
  m.unlock();
  CHECK(order == "abc"); // each holder hands it to the next
  CHECK(m.try_lock());
  m.unlock();
}

TEST_CASE("mutex: tasks that hold it while others come get it in turn") {
  engine e(small_profile(1));
  mutex m;
  std::string order; // only one worker writes it
  const auto locks = [](mutex& on, std::string& out, char c) -> task<> {
    for (int i = 0; i < 3; ++i) {
      const mutex_guard lock = co_await on.lock();
      out += c;
      co_await yield(); // the others come meanwhile
    }
  };
  REQUIRE(e.submit([&] {
    for (const char c : {'a', 'b', 'c'}) REQUIRE(e.submit(locks(m, order, c)) == submit_result::accepted);
  }) == submit_result::accepted);
  e.drain();
  CHECK(order.size() == 9);
  CHECK(order.substr(3) == order.substr(0, 3) + order.substr(0, 3));
}

TEST_CASE("mutex: one task at a time holds it, also across suspensions and threads") {
  for (const std::uint32_t workers : {1U, 2U, 8U}) {
    engine e(small_profile(workers));
    mutex m;
    int count = 0; // not atomic
    const auto counts = [&]() -> task<> {
      for (int i = 0; i < 100; ++i) {
        const mutex_guard lock = co_await m.lock();
        const int before = count;
        if (i % 3 == 0) co_await yield();
        count = before + 1;
      }
    };
    for (int i = 0; i < 100; ++i) REQUIRE(e.submit(counts()) == submit_result::accepted);
    int tries = 0;
    while (tries < 100) { // on a thread of no engine
      if (!m.try_lock()) {
        std::this_thread::yield();
        if (e.metrics().in_flight() == 0) break;
        continue;
      }
      ++count;
      ++tries;
      m.unlock();
    }
    e.drain();
    CHECK(count == 100 * 100 + tries);
    CHECK(m.try_lock());
    m.unlock();
  }
}

TEST_CASE("mutex: after a stop the guard does not hold the mutex") {
  mutex m;
  std::stop_source source;
  std::string answers;
  const auto locks = [](mutex& on, std::stop_token stop, std::string& out) -> task<> {
    mutex_guard lock = co_await on.lock(std::move(stop));
    out += lock ? '1' : '0';
    lock.unlock();
    out += lock ? '1' : '0';
  };
  REQUIRE(m.try_lock());
  outside a(locks(m, source.get_token(), answers));
  outside b(locks(m, {}, answers));
  source.request_stop();
  CHECK(answers == "00");
  m.unlock();
  CHECK(answers == "0010");
}

TEST_CASE("mutex_guard: it moves, and unlocks once") {
  mutex m;
  REQUIRE(m.try_lock());
  {
    mutex_guard first(m, std::adopt_lock);
    mutex_guard second = std::move(first);
    CHECK(second);
    mutex_guard third;
    CHECK(!third);
    third = std::move(second);
    CHECK(third);
    CHECK(!m.try_lock());
  }
  CHECK(m.try_lock());
  m.unlock();
}

TEST_CASE("mutex_guard: what it is assigned unlocks what it had, at once") {
  mutex a;
  mutex b;
  REQUIRE((a.try_lock() && b.try_lock()));
  mutex_guard of_a(a, std::adopt_lock);
  mutex_guard of_b(b, std::adopt_lock);
  const mutex_guard& left = of_b;
  of_a = std::move(of_b);
  CHECK(!left);
  CHECK(a.try_lock());
  CHECK(!b.try_lock());
  a.unlock();
  mutex_guard& itself = of_a;
  of_a = std::move(itself);
  CHECK(of_a);
}

TEST_CASE("mutex: after stops at random it is free in the end") {
  engine e(small_profile(8));
  for (int round = 0; round < 200; ++round) {
    mutex m;
    std::stop_source source;
    int count = 0; // not atomic
    std::atomic<int> got{0};
    const auto counts = [&](std::stop_token stop) -> task<> {
      for (int i = 0; i < 10; ++i) {
        const mutex_guard lock = co_await m.lock(stop);
        if (!lock) continue;
        ++count;
        ++got;
        co_await yield();
      }
    };
    for (int i = 0; i < 20; ++i)
      REQUIRE(e.submit(counts(i % 2 == 0 ? source.get_token() : std::stop_token())) ==
              submit_result::accepted);
    for (int i = 0; i < round % 7; ++i) std::this_thread::yield();
    source.request_stop();
    e.drain();
    CHECK(count == got);
    CHECK(got >= 100); // at least those that were not stopped
    CHECK(m.try_lock());
    m.unlock();
  }
}
