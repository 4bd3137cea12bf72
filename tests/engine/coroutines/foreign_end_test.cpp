#include "fire_and_forget.hpp"
#include "small_engine.hpp"
#include "suspended.hpp"
#include "within.hpp"

#include <corewise/engine/event.hpp>
#include <corewise/engine/task.hpp>
#include <corewise/engine/yield.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <coroutine>
#include <exception>
#include <stdexcept>
#include <vector>

// How coroutines of other types end that a task has begun by hand: by an exception, or with their engine.

using namespace corewise;
using namespace std::chrono_literals;

namespace {

/// Tells the awaiting coroutine's frame, and lets it go on.
struct note_frame {
  std::coroutine_handle<>& to;
  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> suspended) const noexcept { return to = suspended, false; }
  void await_resume() const noexcept {}
};

/// Lets the exception out that ends it.
struct throwing {
  explicit throwing(std::coroutine_handle<> f) noexcept : frame(f) {}
  throwing(const throwing&) = delete;
  throwing& operator=(const throwing&) = delete;
  /// After an exception it stands at its end, and may be destroyed; compilers would destroy its temporaries twice.
  ~throwing() {
    if (std::coroutine_handle<promise_type>::from_address(frame.address()).promise().failed)
      kept_.push_back(frame);
    else
      frame.destroy();
  }
  std::coroutine_handle<> frame;
  static inline auto& kept_ = *new std::vector<std::coroutine_handle<>>; // found by leak checkers at the end

  struct promise_type {
    throwing get_return_object() noexcept {
      return throwing(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    std::suspend_always final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() {
      failed = true;
      throw;
    }
    bool failed = false;
  };
};

} // namespace

TEST_CASE("coroutine of another type: an exception that ends it is reported, and the task goes on") {
  profile p = small_profile(2);
  p.on_exception = exception_action::report;
  std::atomic<int> reported{0};
  engine_hooks hooks;
  hooks.on_exception = [&](const std::exception_ptr&) { ++reported; };
  engine e(p, hooks);
  event go_on;
  bool ended = false;
  const auto fails = [](event& begun) -> throwing {
    co_await begun.wait();
    throw std::runtime_error("x");
  };
  const auto root = [&]() -> task<> {
    event begun;
    const throwing foreign = fails(begun);
    begun.set();
    co_await go_on.wait();
    ended = true;
  };
  REQUIRE(e.submit(root()) == submit_result::accepted);
  REQUIRE(within(10s, [&] { return reported == 1; }));
  CHECK(e.metrics().in_flight() == 1);
  go_on.set();
  e.drain();
  CHECK(ended);
}

TEST_CASE("coroutine of another type, begun by hand in a task: woken and not yet run, it does not hold the "
          "end up") {
  event first;
  event never;
  gate held;
  std::coroutine_handle<> frame;
  {
    engine e(small_profile(1));
    const auto begins = [&frame](event& until) -> fire_and_forget {
      co_await note_frame{frame};
      co_await until.wait();
    };
    const auto root = [&]() -> task<> {
      begins(first);
      co_await never.wait();
    };
    REQUIRE(e.submit(root()) == submit_result::accepted);
    e.run([] {}).get();
    tests::hold_until_end(e, held);
    first.set();
    held.open();
    static_cast<void>(e.shutdown(0ms));
    e.drain();
  }
  frame.destroy();
}

TEST_CASE(
    "coroutine of another type: an exception that ends it where another task gave way to it ends no task") {
  profile p = small_profile(1);
  p.on_exception = exception_action::report;
  std::atomic<int> reported{0};
  engine_hooks hooks;
  hooks.on_exception = [&](const std::exception_ptr&) { ++reported; };
  event go_on;
  std::atomic<bool> stop{false};
  const auto yields = [](int times) -> task<> {
    for (int i = 0; i < times; ++i) co_await yield();
  };
  const auto fails = [&](int after) -> throwing {
    co_await yields(after);
    throw std::runtime_error("x");
  };
  const auto root = [&](int after) -> task<> {
    const throwing foreign = fails(after);
    co_await go_on.wait();
  };
  const auto other = [&]() -> task<> {
    while (!stop) co_await yield();
  };
  engine e(p, hooks);
  const auto start = [&]() -> task<> {
    for (int i = 0; i < 3; ++i) CHECK(e.submit(other()) == submit_result::accepted);
    CHECK(e.submit(root(20'000)) == submit_result::accepted);
    co_return;
  };
  e.run(start()).get();
  REQUIRE(within(60s, [&] { return reported == 1; }));
  CHECK(e.metrics().in_flight() == 4);
  stop = true;
  go_on.set();
  e.drain();
}
