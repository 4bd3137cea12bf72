#include "outside.hpp"
#include "small_engine.hpp"
#include "token.hpp"

#include <corewise/engine/engine.hpp>
#include <corewise/engine/semaphore.hpp>
#include <corewise/engine/yield.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <random>
#include <thread>
#include <vector>

using namespace corewise;

namespace {

task<> acquire_and_say(semaphore& s, std::string& out, char c) {
  co_await s.acquire();
  out += c;
}

} // namespace

TEST_CASE("semaphore: the longest waiter gets released permits, and no waiter overtakes another") {
  semaphore s(1);
  std::string order;
  outside a(acquire_and_say(s, order, 'a'));
  CHECK(order == "a");
  outside b(acquire_and_say(s, order, 'b'));
  outside c(acquire_and_say(s, order, 'c'));
  outside d(acquire_and_say(s, order, 'd'));
  CHECK(!s.try_acquire());
  s.release();
  CHECK(order == "ab");
  CHECK(!s.try_acquire()); // the permit went to b
  s.release(4);
  CHECK(order == "abcd");
  CHECK(s.available() == 2);
  CHECK(s.try_acquire());
  CHECK(s.try_acquire());
  CHECK(!s.try_acquire());
  s.release(semaphore::largest);
  CHECK(s.available() == semaphore::largest);
}

TEST_CASE("semaphore: a stop ends the wait without a permit, and the permit goes to the next") {
  semaphore s(0);
  std::string order;
  std::stop_source source;
  const auto acquires = [](semaphore& from, std::stop_token stop, std::string& out, char c) -> task<> {
    const bool got = co_await from.acquire(std::move(stop));
    out += got ? c : '-';
  };
  outside a(acquires(s, source.get_token(), order, 'a'));
  outside b(acquires(s, {}, order, 'b'));
  source.request_stop();
  CHECK(order == "-");
  s.release();
  CHECK(order == "-b");
  s.release();
  outside c(acquires(s, source.get_token(), order, 'c')); // a permit is there: it counts for more
  outside d(acquires(s, source.get_token(), order, 'd'));
  CHECK(order == "-bc-");
  CHECK(s.available() == 0);
}

TEST_CASE("semaphore: a stop that comes between grant and resumption gives the permit back") {
  engine e(small_profile(1));
  semaphore s(0);
  std::stop_source source;
  std::atomic<int> got{0};
  const auto acquires = [](semaphore& from, std::stop_token stop, std::atomic<int>& n) -> task<> {
    const bool granted = co_await from.acquire(std::move(stop));
    n = granted ? 1 : -1;
  };
  REQUIRE(e.submit(acquires(s, source.get_token(), got)) == submit_result::accepted);
  for (int i = 0; i < 3; ++i) e.run([] {}).get(); // the coroutine waits
  e.run([&] {
     s.release();           // the coroutine is the next to run here
     source.request_stop(); // the coroutine hears of it first
   }).get();
  e.drain();
  CHECK(got == -1);
  CHECK(s.available() == 1);
}

TEST_CASE("semaphore: at most as many tasks as there are permits go on at a time") {
  for (const std::uint32_t workers : {1U, 2U, 8U}) {
    engine e(small_profile(workers));
    semaphore s(3);
    std::atomic<int> inside{0};
    std::atomic<int> most{0};
    std::atomic<int> done{0};
    const auto passes = [&]() -> task<> {
      for (int i = 0; i < 100; ++i) {
        co_await s.acquire();
        const int now = inside.fetch_add(1) + 1;
        int seen = most;
        while (seen < now && !most.compare_exchange_weak(seen, now)) {
        }
        if (i % 4 == 0) co_await yield();
        inside.fetch_sub(1);
        s.release();
      }
      ++done;
    };
    for (int i = 0; i < 50; ++i) REQUIRE(e.submit(passes()) == submit_result::accepted);
    e.drain();
    CHECK(done == 50);
    CHECK(most <= 3);
    CHECK(s.available() == 3);
  }
}

TEST_CASE("semaphore: with tasks, threads and stops at random, no permit is lost or invented") {
  const std::uint64_t seed = std::random_device{}();
  CAPTURE(seed);
  engine e(small_profile(8));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 30; ++round) {
    semaphore s(2);
    std::vector<std::stop_source> sources(20);
    std::atomic<int> granted{0};
    std::atomic<int> stopped{0};
    const auto acquires = [](semaphore& from, std::stop_token stop, std::atomic<int>& yes,
                             std::atomic<int>& no) -> task<> {
      for (int i = 0; i < 20; ++i) {
        const bool got = co_await from.acquire(stop);
        ++(got ? yes : no);
        if (got) co_await yield();
        if (got) from.release();
      }
    };
    std::jthread stops([&, order = random()] {
      std::mt19937_64 own(order);
      for (int i = 0; i < 40; ++i) {
        sources[own() % sources.size()].request_stop();
        const bool got = s.try_acquire();
        std::this_thread::yield();
        if (got) s.release();
      }
    });
    for (int i = 0; i < 60; ++i)
      REQUIRE(e.submit(acquires(s, sources[random() % sources.size()].get_token(), granted, stopped)) ==
              submit_result::accepted);
    stops.join();
    e.drain();
    CHECK(granted + stopped == 60 * 20);
    CHECK(s.available() == 2);
  }
}

TEST_CASE("semaphore: each waiter goes on once while a thread releases and others are stopped") {
  engine e(small_profile(4));
  const std::uint64_t seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 3000; ++round) {
    semaphore s(0);
    std::stop_source source;
    std::atomic<int> granted{0};
    std::atomic<int> stopped{0};
    const auto acquires = [](semaphore& from, std::stop_token stop, std::atomic<int>& yes,
                             std::atomic<int>& no) -> task<> {
      const bool got = co_await from.acquire(std::move(stop));
      ++(got ? yes : no);
    };
    const unsigned when = static_cast<unsigned>(random() % 4);
    for (int i = 0; i < 2; ++i)
      REQUIRE(e.submit(acquires(s, source.get_token(), granted, stopped)) == submit_result::accepted);
    if (when == 0) std::this_thread::yield();
    if (when != 1) REQUIRE(e.submit([&] { s.release(); }) == submit_result::accepted);
    if (when == 1) s.release();
    if (when == 3) std::this_thread::yield();
    source.request_stop();
    e.drain();
    CHECK(granted + stopped == 2);
    CHECK(granted + static_cast<int>(s.available()) == 1);
  }
}

TEST_CASE("semaphore: a waiter that is destroyed between grant and resumption gives its permit back") {
  semaphore s(0);
  std::atomic<int> alive{0};
  engine e(small_profile(1));
  const auto acquires = [](semaphore& from, token) -> task<> { co_await from.acquire(); };
  REQUIRE(e.submit(acquires(s, token(alive))) == submit_result::accepted);
  for (int i = 0; i < 3; ++i) e.run([] {}).get(); // the coroutine waits
  const auto held = std::make_shared<gate>();     // the thread that waits for it outlives the engine
  REQUIRE(e.submit([&s, held] {
    s.release(); // the waiter is queued here, and does not run any more
    held->pass();
  }) == submit_result::accepted);
  held->wait_for(1);
  const shutdown_report report = e.shutdown(std::chrono::milliseconds{0});
  held->open();
  CHECK(report.dropped == 1);
  CHECK(alive == 0);
  CHECK(s.available() == 1);
}

TEST_CASE("semaphore: coroutines that wait when the engine ends are destroyed when they are woken") {
  semaphore s(0);
  std::atomic<int> alive{0};
  engine e(small_profile(2));
  const auto acquires = [](semaphore& from, token) -> task<> { co_await from.acquire(); };
  for (int i = 0; i < 5; ++i) REQUIRE(e.submit(acquires(s, token(alive))) == submit_result::accepted);
  while (e.metrics().waiting() != 0) std::this_thread::yield();
  static_cast<void>(e.shutdown(std::chrono::milliseconds{1}));
  s.release(5);
  CHECK(alive == 0);
  CHECK(s.available() == 5);
  CHECK(e.metrics().in_flight() == 0);
}
