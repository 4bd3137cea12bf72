// Engines that end while threads or another engine wake their coroutines.

#include "small_engine.hpp"
#include "suspended.hpp"
#include "token.hpp"

#include <corewise/engine/channel.hpp>
#include <corewise/engine/event.hpp>
#include <corewise/engine/latch.hpp>
#include <corewise/engine/mutex.hpp>
#include <corewise/engine/oneshot.hpp>
#include <corewise/engine/semaphore.hpp>
#include <corewise/engine/when_all.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <random>
#include <thread>
#include <vector>

using namespace corewise;
using namespace corewise::tests;
using namespace std::chrono_literals;

namespace {

/// All that a coroutine may wait for. Threads end the waits.
struct places {
  event all;
  auto_reset_event one;
  semaphore permits{0};
  mutex alone;
  latch down{3};
  channel<int> values{1};
  std::array<std::pair<oneshot_sender<int>, oneshot_receiver<int>>, 4> shots{
      make_oneshot<int>(), make_oneshot<int>(), make_oneshot<int>(), make_oneshot<int>()};
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
    if (mine < at.shots.size()) co_await at.shots[mine].second.receive(stop);
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
        for (auto& shot : at.shots) shot.first.send(1);
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
    std::vector<oneshot_sender<int>> senders;
    std::atomic<int> alive{0};
    {
      engine e(small_profile(1));
      const auto receives = [](oneshot_receiver<int> from, token) -> task<> { co_await from.receive(); };
      for (int i = 0; i < 20; ++i) {
        auto halves = make_oneshot<int>();
        senders.push_back(std::move(halves.first));
        REQUIRE(e.submit(receives(std::move(halves.second), token(alive))) == submit_result::accepted);
      }
      REQUIRE(wakes.submit([&] {
        for (oneshot_sender<int>& sender : senders) sender.send(1);
      }) == submit_result::accepted);
      static_cast<void>(e.shutdown(std::chrono::microseconds{random() % 50}));
      wakes.drain();
      wait_until_none(alive);
      e.drain();
    }
  }
}
