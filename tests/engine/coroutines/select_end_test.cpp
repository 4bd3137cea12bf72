// `select` when its engine ends.

#include "small_engine.hpp"
#include "suspended.hpp"
#include "token.hpp"

#include <corewise/engine/channel.hpp>
#include <corewise/engine/event.hpp>
#include <corewise/engine/latch.hpp>
#include <corewise/engine/select.hpp>
#include <corewise/engine/semaphore.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <random>
#include <thread>

using namespace corewise;
using namespace corewise::tests;
using namespace std::chrono_literals;

TEST_CASE("shutdown: a race is dropped, of sleeps alone as well, and its event is as good as new") {
  std::atomic<int> alive{0};
  event happens;
  engine e(small_profile(1));
  const auto sleeps = [](token /*held*/) -> task<> {
    static_cast<void>(co_await select(sleep_for(1h), sleep_for(2h)));
  };
  const auto waits = [&](token /*held*/) -> task<> {
    static_cast<void>(co_await select(happens.wait(), sleep_for(2h)));
  };
  REQUIRE(e.submit(sleeps(token(alive))) == submit_result::accepted);
  REQUIRE(e.submit(waits(token(alive))) == submit_result::accepted);
  wait_until_suspended(e, 1);
  while (e.metrics().timers_pending != 3) std::this_thread::yield();
  CHECK(e.shutdown(0ms).dropped == 2);
  CHECK(alive == 0);
  happens.set();
  CHECK(happens.is_set());
}

TEST_CASE("shutdown: a race with a sleep is not dropped while a task runs that may decide it") {
  std::atomic<int> alive{0};
  auto held = std::make_shared<gate>();
  engine e(small_profile(2));
  const auto asks = [&](token /*held*/) -> task<> {
    event answer; // lies in this frame, and the task that runs uses it
    const submit_result asked = e.submit([&answer, held] {
      held->pass();
      answer.set();
    });
    if (asked == submit_result::accepted) static_cast<void>(co_await select(answer.wait(), sleep_for(1h)));
  };
  REQUIRE(e.submit(asks(token(alive))) == submit_result::accepted);
  held->wait_for(1);
  wait_until_suspended(e, 1);
  CHECK(e.shutdown(10ms).running.size() == 1);
  CHECK(alive == 1);
  held->open();
  wait_until_none(alive);
}

TEST_CASE("shutdown: while threads make parts possible, each race ends once or is dropped once") {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    std::atomic<int> alive{0};
    semaphore permits(0);
    channel<int> values(2);
    event happens;
    latch down(1);
    {
      engine e(small_profile(2));
      const auto race = [&](token /*held*/) -> task<> {
        static_cast<void>(
            co_await select(permits.acquire(), values.receive(), happens.wait(), down.wait(), sleep_for(1h)));
      };
      for (int i = 0; i < 10; ++i) REQUIRE(e.submit(race(token(alive))) == submit_result::accepted);
      std::thread wakes([&, seed = random()] {
        std::mt19937 turns(seed);
        permits.release(2);
        for (auto pause = turns() % 500; pause != 0; --pause)
          std::atomic_signal_fence(std::memory_order_seq_cst);
        static_cast<void>(values.try_send(1));
        if (turns() % 2 == 0) happens.set();
        if (turns() % 2 == 0) down.count_down();
      });
      static_cast<void>(e.shutdown(std::chrono::microseconds{random() % 100}));
      wakes.join();
      wait_until_none(alive);
    }
  }
}
