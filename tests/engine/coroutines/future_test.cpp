#include "small_engine.hpp"

#include <corewise/engine/engine.hpp>
#include <corewise/engine/oneshot.hpp>
#include <corewise/engine/yield.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

using namespace corewise;

namespace {

task<std::string> word(std::string w) {
  co_await yield();
  co_return w;
}

} // namespace

TEST_CASE("run: the future of a closure or a task returns its value") {
  engine e(small_profile(2));
  CHECK(e.run([] { return 7; }).get() == 7);
  CHECK(e.run(word("yes")).get() == "yes");
  CHECK(e.run([w = std::string("lambda")]() -> task<std::string> { co_return co_await word(w); }).get() ==
        "lambda");
  CHECK(*e.run([p = std::make_unique<int>(3)]() mutable { return std::move(p); }).get() == 3);
  e.run([] {}).get();
  CHECK(sync_wait(e, word("waited")) == "waited");
}

TEST_CASE("run: nothing is left of the closure when its future is ready") {
  struct slow_to_go {
    std::shared_ptr<int> held;
    ~slow_to_go() {
      if (held) std::this_thread::sleep_for(std::chrono::microseconds{50});
    }
    slow_to_go(std::shared_ptr<int> h) : held(std::move(h)) {}
    slow_to_go(slow_to_go&&) = default;
  };
  engine e(small_profile(2));
  const auto held = std::make_shared<int>(0);
  for (int i = 0; i < 200; ++i) {
    e.run([of = slow_to_go(held)] { static_cast<void>(of); }).get();
    CHECK(held.use_count() == 1);
    CHECK_THROWS_AS(e.run([of = slow_to_go(held)]() -> int { throw std::runtime_error("x"); }).get(),
                    std::runtime_error);
    CHECK(held.use_count() == 1);
  }
}

TEST_CASE("run: the future throws the exception, and the task does not") {
  engine e(small_profile(1)); // on_exception: terminate
  const auto fails = []() -> task<int> {
    throw std::runtime_error("no");
    co_return 0;
  };
  CHECK_THROWS_AS(e.run([]() -> int { throw std::runtime_error("no"); }).get(), std::runtime_error);
  CHECK_THROWS_AS(e.run(fails()).get(), std::runtime_error);
  CHECK(e.metrics().failed == 0);
}

TEST_CASE("run: awaiting a future suspends the task, not the worker") {
  engine e(small_profile(1));
  const auto work = [&]() -> task<int> {
    future<int> f = e.run([] { return 20; });
    future<int> g = e.run([]() -> task<int> { co_return 22; });
    co_return co_await std::move(f) + co_await std::move(g);
  };
  CHECK(sync_wait(e, work()) == 42);
}

TEST_CASE("run: wait_for returns whether the future is ready, and may be called again") {
  engine e(small_profile(1));
  gate closed;
  future<int> f = e.run([&] {
    closed.pass();
    return 1;
  });
  CHECK_FALSE(f.wait_for(std::chrono::milliseconds{1}));
  CHECK_FALSE(f.wait_for(std::chrono::nanoseconds{0}));
  CHECK_FALSE(f.ready());
  closed.open();
  while (!f.wait_for(std::chrono::seconds{60})) {
  }
  CHECK(f.ready());
  CHECK(f.get() == 1);
}

TEST_CASE("run: a wait on a worker is an error, unless the wait lends the worker") {
  engine e(small_profile(1));
  const bool refused = e.run([&] {
                          future<int> f = e.run([] { return 1; });
                          try {
                            f.wait();
                          } catch (const std::logic_error&) {
                            return true;
                          }
                          return false;
                        }).get();
  CHECK(refused);
  const std::uint64_t submitted = e.run([&] {
                                     CHECK_THROWS_AS(sync_wait(e, word("never")), std::logic_error);
                                     return e.metrics().submitted;
                                   }).get();
  CHECK(submitted == e.metrics().submitted);
  CHECK(e.run([&] {
           future<int> f = e.run([] { return 5; });
           return blocking([&] { return f.get(); });
         }).get() == 5);
}

TEST_CASE("run: the future of work that the engine refuses or drops throws not_run") {
  engine e(small_profile(1));
  const auto forever = []() -> task<int> {
    for (;;) co_await yield();
  };
  future<int> dropped = e.run(forever());
  future<int> left = e.run(forever());
  {
    const future<int> nobody = std::move(left);
  }
  static_cast<void>(e.shutdown(std::chrono::milliseconds{0}));
  CHECK_THROWS_AS(dropped.get(), not_run);
  CHECK_THROWS_AS(e.run([] { return 1; }).get(), not_run);
  CHECK_THROWS_AS(e.run(word("late")).get(), not_run);
}

TEST_CASE("run: no value is lost when a future is abandoned, awaited or read while its work ends") {
  engine e(small_profile(2));
  std::atomic<int> run{0};
  constexpr int count = 3000;
  for (int i = 0; i < count; ++i) {
    future<int> f = e.run([&] { return run.fetch_add(1); });
    if (i % 3 == 0) static_cast<void>(f.get());
    if (i % 3 == 1) static_cast<void>(f.wait_for(std::chrono::microseconds{i % 7}));
    if (i % 3 == 2)
      static_cast<void>(sync_wait(
          e, [](future<int> mine) -> task<int> { co_return co_await std::move(mine); }(std::move(f))));
  }
  e.drain();
  CHECK(run == count);
}

TEST_CASE("run: a large result lies where its alignment wants it") {
  struct alignas(64) large {
    large() = default;
    large(large&& from) noexcept : bad(from.bad) { note(); }
    void note() noexcept { bad = bad || reinterpret_cast<std::uintptr_t>(this) % 64 != 0; }
    bool bad = false;
    char bytes[8192] = {};
  };
  engine e(small_profile(1));
  std::vector<future<large>> all; // of which some by chance would lie well
  for (int i = 0; i < 20; ++i) all.push_back(e.run([] { return large(); }));
  for (future<large>& one : all) CHECK_FALSE(one.get().bad);
}
