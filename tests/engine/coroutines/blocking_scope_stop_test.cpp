// Blocking scopes that an exception or a stop ends.

#include "small_engine.hpp"
#include "stand_still.hpp"

#include <corewise/engine/blocking_scope.hpp>
#include <corewise/engine/engine.hpp>
#include <corewise/engine/event.hpp>
#include <corewise/engine/scope.hpp>
#include <corewise/engine/sync_wait.hpp>

#include <doctest/doctest.h>

#include <thread>

using namespace corewise;
using namespace corewise::tests;

TEST_CASE(
    "blocking scope: wait throws the first exception, which stops the scope, and no further call begins") {
  engine e(small_profile(1));
  const auto work = [] {
    int begun = 0;
    std::string what;
    blocking_scope s;
    for (int i = 0; i < 5; ++i) s.fork([&] { ++begun; });
    s.fork([&] { throw std::runtime_error("first"); });
    try {
      s.wait();
    } catch (const std::runtime_error& error) {
      what = error.what();
    }
    return what + (s.stop_requested() ? " stopped " : " ") + std::to_string(begun);
  };
  CHECK(e.run(work).get() == "first stopped 0");
  CHECK(e.metrics().failed == 0);
}

TEST_CASE("blocking scope: a stop token stops it, so that no further call begins and running calls can see "
          "the stop") {
  engine e(small_profile(2));
  SUBCASE("before the scope is made") {
    std::stop_source stop;
    stop.request_stop();
    const auto work = [&] {
      int begun = 0;
      blocking_scope s(stop.get_token());
      for (int i = 0; i < 5; ++i) s.fork([&] { ++begun; });
      s.wait();
      return std::pair(begun, s.stop_requested());
    };
    CHECK(e.run(work).get() == std::pair(0, true));
    int begun = 0;
    blocking_scope s(e, stop.get_token());
    s.fork([&] { ++begun; });
    s.wait();
    CHECK(begun == 0);
  }
  SUBCASE("while calls run, at any depth that has the token") {
    std::stop_source stop;
    std::atomic<int> begun{0};
    const auto stands = [&](const blocking_scope& s) {
      begun.fetch_add(1);
      while (!s.stop_requested()) std::this_thread::yield();
    };
    blocking_scope outer(e, stop.get_token());
    for (int i = 0; i < 2; ++i)
      outer.fork([&, token = stop.get_token()] {
        blocking_scope inner(token);
        inner.fork([&] { stands(inner); });
        stands(inner);
        inner.wait();
      });
    while (begun < 2) std::this_thread::yield();
    CHECK_FALSE(outer.stop_requested());
    stop.request_stop();
    outer.wait();
    CHECK(outer.stop_requested());
  }
  SUBCASE("a token without a stop state, and a scope that has ended") {
    std::stop_source stop;
    int runs = 0;
    {
      blocking_scope s(e, std::stop_token());
      s.fork([&] { ++runs; });
      s.wait();
      blocking_scope gone(e, stop.get_token());
      gone.fork([&] { ++runs; });
      gone.wait();
      CHECK_FALSE(gone.stop_requested());
    }
    stop.request_stop();
    CHECK(runs == 2);
  }
}

TEST_CASE("blocking scope: its token ends the waits of its calls, for each cause of the stop") {
  engine e(small_profile(2));
  event never;
  const auto waits = [&](blocking_scope& s) { return sync_wait(never.wait(s.stop_token())); };
  SUBCASE("an exception") {
    const auto work = [&] {
      bool came = true;
      blocking_scope s;
      s.fork([&] { came = waits(s); });
      s.fork([] { throw std::runtime_error("first"); });
      CHECK_THROWS_AS(s.wait(), std::runtime_error);
      return came;
    };
    for (int i = 0; i < 100; ++i) static_cast<void>(e.run(work).get()); // the call may not have begun
  }
  SUBCASE("a token from outside, before and after a call asks for the scope's token") {
    std::stop_source outside;
    blocking_scope s(e, outside.get_token());
    const std::stop_token mine = s.stop_token();
    bool told = false;
    const std::stop_callback on_stop(mine, [&] {
      told = true;
      s.request_stop(); // the scope is stopped already
    });
    CHECK_FALSE(mine.stop_requested());
    outside.request_stop();
    CHECK(told);
    CHECK(s.stop_token() == mine);
    blocking_scope later(e, outside.get_token());
    CHECK(later.stop_token().stop_requested());
  }
  SUBCASE("request_stop, while other calls ask for the token") {
    for (int i = 0; i < 200; ++i) {
      blocking_scope s(e);
      std::atomic<int> told{0};
      for (int k = 0; k < 3; ++k) s.fork([&] { told += waits(s) ? 0 : 1; });
      s.request_stop();
      s.wait();
      CHECK(s.stop_token().stop_requested());
      CHECK(told <= 3);
    }
  }
}

TEST_CASE("blocking scope: an exception that passes through the scope stops it, and leaves only after all "
          "calls have ended") {
  engine e(small_profile(2));
  std::atomic<bool> begun{false};
  std::atomic<bool> ended{false};
  const auto work = [&] {
    blocking_scope s;
    s.fork([&] {
      begun = true;
      while (!s.stop_requested()) std::this_thread::yield();
      ended = true;
    });
    stand_still_until(begun); // the other worker runs it
    throw std::runtime_error("body");
  };
  CHECK_THROWS_AS(e.run(work).get(), std::runtime_error);
  CHECK(ended);
}
