#include "outside.hpp"
#include "small_engine.hpp"

#include <corewise/engine/engine.hpp>
#include <corewise/engine/latch.hpp>
#include <corewise/engine/scope.hpp>

#include <doctest/doctest.h>

#include <thread>
#include <vector>

using namespace corewise;

TEST_CASE("latch: waiters go on when it has come to 0, and it stays at 0") {
  latch l(3);
  std::string order;
  const auto waits = [](latch& on, std::string& out, char c) -> task<> {
    co_await on.wait();
    out += c;
  };
  outside a(waits(l, order, 'a'));
  l.count_down();
  outside b(waits(l, order, 'b'));
  CHECK(!l.try_wait());
  CHECK(order.empty());
  l.count_down(2);
  CHECK(order == "ab");
  l.count_down();
  CHECK(l.try_wait());
  outside c(waits(l, order, 'c'));
  CHECK(order == "abc");
  latch none(0);
  outside d(waits(none, order, 'd'));
  CHECK(order == "abcd");
}

TEST_CASE("latch: a stop ends the wait and leaves the count") {
  latch l(1);
  std::stop_source source;
  std::string answers;
  const auto waits = [](latch& on, std::stop_token stop, std::string& out) -> task<> {
    const bool open = co_await on.wait(std::move(stop));
    out += open ? '1' : '0';
  };
  outside a(waits(l, source.get_token(), answers));
  outside b(waits(l, {}, answers));
  source.request_stop();
  CHECK(answers == "0");
  l.count_down();
  CHECK(answers == "01");
}

TEST_CASE("latch: it may live in the frame of its waiter, which can go on before the last count_down has "
          "returned") {
  for (const std::uint32_t workers : {1U, 2U, 8U}) {
    engine e(small_profile(workers));
    const auto counts = [](latch& l) -> task<> {
      l.count_down();
      co_return;
    };
    const auto work = [&](int rounds) -> task<int> {
      int children = 0;
      for (int round = 0; round < rounds; ++round) {
        auto l = std::make_unique<latch>(5); // sanitizers see a task that touches it too late
        for (int i = 0; i < 5; ++i)
          if (e.submit(counts(*l)) == submit_result::accepted) ++children;
        co_await l->wait();
      }
      co_return children;
    };
    CHECK(sync_wait(e, work(4000)) == 20'000);
  }
}

TEST_CASE("latch: threads and tasks count down together, each time all waiters go on") {
  engine e(small_profile(8));
  for (int round = 0; round < 200; ++round) {
    latch l(40);
    std::atomic<int> went_on{0};
    int written = 0; // the tasks that the latch waits for write it
    const auto waits = [](latch& on, std::atomic<int>& n, const int& value) -> task<> {
      co_await on.wait();
      n += value;
    };
    const auto counts = [](latch& on) -> task<> {
      on.count_down();
      co_return;
    };
    for (int i = 0; i < 10; ++i) {
      REQUIRE(e.submit(waits(l, went_on, written)) == submit_result::accepted);
      REQUIRE(e.submit(counts(l)) == submit_result::accepted);
    }
    std::thread other([&] {
      for (int i = 0; i < 14; ++i) l.count_down();
    });
    for (int i = 0; i < 15; ++i) l.count_down();
    written = 1;
    l.count_down();
    other.join();
    e.drain();
    CHECK(went_on == 10);
  }
}
