// Suspended coroutines in dumps and in the log.

#include "small_engine.hpp"
#include "suspended.hpp"

#include <corewise/engine/channel.hpp>
#include <corewise/engine/event.hpp>
#include <corewise/engine/semaphore.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <thread>

using namespace corewise;
using namespace corewise::tests;
using namespace std::chrono_literals;

TEST_CASE("destructor: it logs the suspended coroutines") {
  event never;
  std::string heard;
  {
    engine_hooks hooks;
    hooks.log = [&](std::string_view line) { heard += line; };
    engine e(small_profile(1), hooks);
    REQUIRE(e.submit([](event& until) -> task<> { co_await until.wait(); }(never)) ==
            submit_result::accepted);
    wait_until_suspended(e, 1);
    static_cast<void>(e.shutdown(0ms));
  }
  CHECK(heard.find("coroutines that waited for event: 1") != std::string::npos);
}

TEST_CASE("dump: it counts suspended coroutines by wait kind, as text and JSON") {
  event go;
  semaphore none(0);
  engine e(small_profile(2));
  const auto both = [](event& first, semaphore& second) -> task<> {
    co_await first.wait();
    co_await second.acquire();
  };
  for (int i = 0; i < several; ++i) REQUIRE(e.submit(both(go, none)) == submit_result::accepted);
  wait_until_suspended(e, several);
  CHECK(e.dump().to_text().find("coroutines that wait for event: 3") != std::string::npos);
  go.set();
  while (number(e.dump().suspended, wait_kind::semaphore) != several) std::this_thread::yield();
  CHECK(nlohmann::json::parse(e.dump().to_json())["suspended"] == nlohmann::json{{"semaphore", several}});
  none.release(several);
  e.drain();
  CHECK(e.dump().suspended.empty());
  CHECK(e.shutdown(10s).clean());
}

TEST_CASE("dump: it counts no suspended coroutine after all have gone on, on any worker") {
  constexpr int pairs = 200; // more coroutines than threads keep free entries for
  constexpr int rounds = 200;
  channel<int> c(0);
  semaphore done(0);
  engine e(small_profile(3));
  const auto sends = [](channel<int>& to) -> task<> {
    for (int i = 0; i < rounds; ++i) co_await to.send(i);
  };
  const auto receives = [](channel<int>& from) -> task<> {
    for (int i = 0; i < rounds; ++i) static_cast<void>(co_await from.receive());
  };
  for (int i = 0; i < pairs; ++i) {
    REQUIRE(e.submit(receives(c)) == submit_result::accepted);
    REQUIRE(e.submit(sends(c)) == submit_result::accepted);
  }
  e.drain();
  CHECK(e.dump().suspended.empty());
}

namespace {

/// A coroutine of a foreign type: it runs at once, and its caller owns its frame.
struct eager {
  struct promise_type {
    eager get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    std::suspend_always final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept { std::terminate(); }
  };
  std::coroutine_handle<promise_type> frame;
};

eager waits_eagerly(event& until) { co_await until.wait(); }

} // namespace

TEST_CASE("dump: a coroutine whose frame was destroyed while it waited is not counted any more") {
  event never;
  engine e(small_profile(1));
  const auto destroys = [](event& until) -> task<> {
    const eager waiting = waits_eagerly(until);
    waiting.frame.destroy();
    co_return;
  };
  REQUIRE(e.submit(destroys(never)) == submit_result::accepted);
  e.drain();
  CHECK(e.dump().suspended.empty());
  CHECK(e.shutdown(10s).clean());
}
