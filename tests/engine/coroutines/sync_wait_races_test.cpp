// Many threads and coroutines at once wait by `sync_wait` and `co_await` for the same things.

#include "small_engine.hpp"
#include "wait_until.hpp"

#include <corewise/engine/barrier.hpp>
#include <corewise/engine/channel.hpp>
#include <corewise/engine/engine.hpp>
#include <corewise/engine/mutex.hpp>
#include <corewise/engine/semaphore.hpp>
#include <corewise/engine/sync_wait.hpp>
#include <corewise/engine/yield.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <thread>
#include <vector>

using namespace corewise;
using namespace corewise::tests;

TEST_CASE("sync_wait: a thread, plain task or coroutine that has the mutex is alone") {
  engine e(small_profile(2));
  constexpr int rounds = 500;
  mutex m;
  int count = 0; // not atomic
  const auto by_thread = [&] {
    for (int i = 0; i < rounds; ++i) {
      const mutex_guard lock = sync_wait(m.lock());
      ++count;
    }
  };
  const auto by_coroutine = [&]() -> task<> {
    for (int i = 0; i < rounds; ++i) {
      const mutex_guard lock = co_await m.lock();
      ++count;
      co_await yield();
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back(by_thread);
    REQUIRE(e.submit(by_thread) == submit_result::accepted);
    REQUIRE(e.submit(by_coroutine()) == submit_result::accepted);
    REQUIRE(e.submit(by_coroutine()) == submit_result::accepted);
  }
  for (std::thread& t : threads) t.join();
  e.drain();
  CHECK(count == 8 * rounds);
}

TEST_CASE("sync_wait: threads and coroutines meet at a barrier, phase after phase") {
  engine e(small_profile(2));
  constexpr int members = 5;
  constexpr int phases = 300;
  barrier all(members);
  std::atomic<int> arrived{0};
  std::atomic<int> early{0}; // how many went on before all had arrived
  const auto come = [&] { arrived.fetch_add(1); };
  const auto look = [&](int phase) {
    if (arrived.load() < members * (phase + 1)) early.fetch_add(1);
  };
  const auto by_coroutine = [&]() -> task<> {
    for (int i = 0; i < phases; ++i) {
      come();
      co_await all.arrive_and_wait();
      look(i);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < members - 3; ++i)
    threads.emplace_back([&] {
      for (int phase = 0; phase < phases; ++phase) {
        come();
        sync_wait(all.arrive_and_wait());
        look(phase);
      }
    });
  for (int i = 0; i < 3; ++i) REQUIRE(e.submit(by_coroutine()) == submit_result::accepted);
  for (std::thread& t : threads) t.join();
  e.drain();
  CHECK(arrived == members * phases);
  CHECK(early == 0);
}

TEST_CASE("sync_wait: each value reaches exactly one receiving thread or coroutine, while some are stopped") {
  engine e(small_profile(2));
  constexpr std::size_t values = 4000;
  channel<std::size_t> c(2);
  std::vector<std::atomic<int>> seen(values);
  const auto by_thread = [&] {
    for (auto v = sync_wait(c.receive()); v; v = sync_wait(c.receive())) ++seen[*v];
  };
  const auto by_coroutine = [&]() -> task<> {
    for (auto v = co_await c.receive(); v; v = co_await c.receive()) ++seen[*v];
  };
  std::vector<std::jthread> threads;
  threads.emplace_back(by_thread);
  threads.emplace_back([&] { // gives up all the time
    while (!c.closed()) {
      std::stop_source stop;
      const std::jthread stops([&] { stop.request_stop(); });
      if (const auto v = sync_wait(c.receive(stop.get_token()))) ++seen[*v];
    }
  });
  REQUIRE(e.submit(by_coroutine()) == submit_result::accepted);
  const auto sends = [&](std::size_t from, std::size_t to) -> task<> {
    for (std::size_t v = from; v < to; ++v) co_await c.send(v);
  };
  future<void> half = e.run(sends(0, values / 2));
  for (std::size_t v = values / 2; v < values; ++v) REQUIRE(sync_wait(c.send(v)));
  half.get();
  c.close();
  threads.clear();
  e.drain();
  CHECK(std::all_of(seen.begin(), seen.end(), [](const std::atomic<int>& n) { return n == 1; }));
}

TEST_CASE("sync_wait: when a permit and a stop come together, the thread or the semaphore has the permit") {
  constexpr int rounds = 1000;
  semaphore s(0);
  std::vector<std::stop_source> stops(rounds);
  std::atomic<int> round{0};
  std::atomic<int> released{0};
  std::thread stopping([&] {
    for (int i = 0; i < rounds; ++i) {
      wait_until(round, i + 1);
      stops[static_cast<std::size_t>(i)].request_stop();
    }
  });
  std::thread releasing([&] {
    for (int i = 0; i < rounds; ++i) {
      wait_until(round, i + 1);
      s.release();
      released.fetch_add(1);
      released.notify_all();
    }
  });
  int bad = 0;
  for (int i = 0; i < rounds; ++i) {
    round.store(i + 1);
    round.notify_all();
    const bool had = sync_wait(s.acquire(stops[static_cast<std::size_t>(i)].get_token()));
    wait_until(released, i + 1);
    if (s.try_acquire() == had) ++bad;
  }
  stopping.join();
  releasing.join();
  CHECK(bad == 0);
}
