#include "small_engine.hpp"

#include <corewise/engine/engine.hpp>
#include <corewise/engine/scope.hpp>
#include <corewise/engine/yield.hpp>

#include <doctest/doctest.h>

#include <thread>

using namespace corewise;

namespace {

task<> count_run(std::atomic<int>& n) {
  n.fetch_add(1);
  co_return;
}

task<> until_stopped(std::stop_token stop, std::atomic<int>& stopped) {
  while (!stop.stop_requested()) co_await yield();
  stopped.fetch_add(1);
}

task<> fails(std::string what) {
  co_await yield();
  throw std::runtime_error(what);
}

task<> tree(scope& s, std::atomic<int>& n, int depth) {
  n.fetch_add(1);
  if (depth == 0) co_return;
  s.fork(tree(s, n, depth - 1));
  s.fork(tree(s, n, depth - 1));
}

} // namespace

TEST_CASE("scope: it ends when its body and all forked tasks have ended") {
  for (const std::uint32_t workers : {1U, 2U, 8U}) {
    engine e(small_profile(workers));
    const auto work = []() -> task<int> {
      std::atomic<int> n{0};
      const int value = co_await in_scope([&](scope& s) -> task<int> {
        for (int i = 0; i < 100; ++i) s.fork(count_run(n));
        co_return 7;
      });
      co_return value * 1000 + n;
    };
    CHECK(sync_wait(e, work()) == 7100);
  }
}

TEST_CASE("scope: its children may fork into it, at any depth") {
  for (const std::uint32_t workers : {1U, 4U}) {
    engine e(small_profile(workers));
    const auto work = []() -> task<int> {
      std::atomic<int> n{0};
      co_await in_scope([&](scope& s) -> task<> { co_await tree(s, n, 10); });
      co_return n;
    };
    CHECK(sync_wait(e, work()) == 2047);
  }
}

TEST_CASE("scope: one worker runs the newest fork first, after the body") {
  engine e(small_profile(1));
  const auto say = [](std::string& out, char c) -> task<> {
    out += c;
    co_return;
  };
  const auto work = [&]() -> task<std::string> {
    std::string order;
    co_await in_scope([&](scope& s) -> task<> {
      for (const char c : {'a', 'b', 'c'}) s.fork(say(order, c));
      order += '-';
      co_return;
    });
    co_return order;
  };
  CHECK(sync_wait(e, work()) == "-cba");
}

TEST_CASE("scope: the first exception stops the other tasks, and is thrown when all have ended") {
  for (const std::uint32_t workers : {1U, 4U})
    for (const bool from_body : {false, true}) {
      engine e(small_profile(workers));
      std::atomic<int> stopped{0};
      const auto work = [&](bool body_fails) -> task<std::string> {
        try {
          co_await in_scope([&](scope& s) -> task<> {
            for (int i = 0; i < 5; ++i) s.fork(until_stopped(s.stop_token(), stopped));
            if (body_fails) throw std::runtime_error("first");
            s.fork(fails("first"));
            co_await until_stopped(s.stop_token(), stopped);
            throw std::runtime_error("second");
          });
        } catch (const std::runtime_error& error) {
          co_return error.what();
        }
        co_return "none";
      };
      CHECK(sync_wait(e, work(from_body)) == "first");
      CHECK(stopped == (from_body ? 5 : 6));
    }
}

TEST_CASE("scope: a stop from outside reaches its tasks, and those of an inner scope") {
  engine e(small_profile(2));
  std::stop_source outside;
  std::atomic<int> stopped{0};
  std::atomic<int> began{0};
  const auto work = [&](std::stop_token stop) -> task<> {
    co_await in_scope(std::move(stop), [&](scope& outer) -> task<> {
      outer.fork(until_stopped(outer.stop_token(), stopped));
      co_await in_scope(outer.stop_token(), [&](scope& inner) -> task<> {
        inner.fork(until_stopped(inner.stop_token(), stopped));
        began = 1;
        began.notify_all();
        co_return;
      });
    });
  };
  future<void> done = e.run(work(outside.get_token()));
  began.wait(0);
  outside.request_stop();
  done.get();
  CHECK(stopped == 2);
}

TEST_CASE("scope: when the engine ends, it drops the whole scope") {
  std::atomic<int> n{0};
  engine e(small_profile(2));
  const auto forever = []() -> task<> {
    for (;;) co_await yield();
  };
  const auto work = [&]() -> task<> {
    co_await in_scope([&](scope& s) -> task<> {
      for (int i = 0; i < 10; ++i) s.fork(forever());
      n = 1;
      co_await forever();
    });
  };
  REQUIRE(e.submit(work()) == submit_result::accepted);
  while (n == 0) std::this_thread::yield();
  const shutdown_report report = e.shutdown(std::chrono::milliseconds{0});
  CHECK(report.running.empty());
  CHECK(e.metrics().in_flight() == 0);
}

TEST_CASE("scope: outside of an engine's tasks it is refused") {
  const auto body = []() -> task<> { co_await in_scope([](scope&) -> task<> { co_return; }); };
  auto alone = body();
  auto&& awaiter = std::move(alone).operator co_await();
  awaiter.await_suspend(std::noop_coroutine()).resume();
  CHECK_THROWS_AS(awaiter.await_resume(), std::logic_error);
}

TEST_CASE("scope: a body that is no coroutine may fork before it returns a task") {
  engine e(small_profile(2));
  std::atomic<int> n{0};
  const auto add = [&n]() -> task<> {
    ++n;
    co_return;
  };
  const auto work = [&]() -> task<> {
    co_await in_scope([&](scope& s) {
      for (int i = 0; i < 10; ++i) s.fork(add());
      return add();
    });
  };
  e.run(work()).get();
  CHECK(n == 11);
}
