#include "small_engine.hpp"

#include <corewise/engine/run_blocking.hpp>
#include <corewise/engine/yield.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

using namespace corewise;

TEST_CASE("run_blocking: a coroutine is on a worker again after a call in which it lost its worker") {
  std::atomic<bool> taken{false};
  engine e(small_profile(1));
  const auto work = [&]() -> task<bool> {
    const int answer = co_await run_blocking([&] {
      if (e.submit([&] {
            taken = true;
            taken.notify_all();
          }) != submit_result::accepted)
        std::abort();
      taken.wait(false); // that task runs on the only worker
      return 7;
    });
    co_return answer == 7 && e.this_worker().has_value();
  };
  CHECK(sync_wait(e, work()));
  CHECK(e.metrics().total().taken_seats == 1);
}

TEST_CASE("run_blocking: with a token, a call may return what cannot be made from a bool, or only be moved") {
  engine e(small_profile(1));
  const auto calls = [](std::stop_token stop) -> task<std::string> {
    const std::optional<std::string> word = co_await run_blocking([] { return std::string("word"); }, stop);
    std::optional<std::unique_ptr<int>> number =
        co_await run_blocking([] { return std::make_unique<int>(7); }, stop);
    co_return word&& number ? *word + std::to_string(**number) : "stopped";
  };
  std::stop_source stop;
  CHECK(sync_wait(e, calls(stop.get_token())) == "word7");
  stop.request_stop();
  CHECK(sync_wait(e, calls(stop.get_token())) == "stopped");
}

TEST_CASE("run_blocking: a short call suspends nothing") {
  profile p = small_profile(1);
  p.blocking.spares_max = 0;
  engine e(p);
  const auto work = [&]() -> task<int> {
    int sum = 0;
    for (int i = 0; i < 100; ++i) sum += co_await run_blocking([i] { return i; });
    co_await run_blocking([&] { ++sum; });
    co_return sum;
  };
  CHECK(sync_wait(e, work()) == 4951);
  e.drain();
  CHECK(e.metrics().total().executed == 1);
  CHECK(e.metrics().total().blocking_calls == 101);
}

TEST_CASE("run_blocking: the co_await throws the exception of the call, on a worker") {
  std::atomic<bool> taken{false};
  engine e(small_profile(1));
  const auto work = [&](bool lose) -> task<std::string> {
    std::string what;
    try {
      co_await run_blocking([&] {
        if (lose) {
          if (e.submit([&] {
                taken = true;
                taken.notify_all();
              }) != submit_result::accepted)
            std::abort();
          taken.wait(false);
        }
        throw std::runtime_error("disk");
      });
    } catch (const std::runtime_error& error) {
      what = error.what();
    }
    co_return what + (e.this_worker() ? " on a worker" : "");
  };
  CHECK(sync_wait(e, work(false)) == "disk on a worker");
  CHECK(sync_wait(e, work(true)) == "disk on a worker");
}

TEST_CASE("run_blocking: outside of an engine's tasks it calls the function directly") {
  int answer = 0;
  const auto body = [&]() -> task<> { answer = co_await run_blocking([] { return 5; }); };
  auto alone = body();
  auto&& awaiter = std::move(alone).operator co_await();
  awaiter.await_suspend(std::noop_coroutine()).resume();
  CHECK(answer == 5);
}
