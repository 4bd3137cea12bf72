#include "small_engine.hpp"

#include <corewise/engine/engine.hpp>
#include <corewise/engine/sleep.hpp>
#include <corewise/engine/when_any.hpp>
#include <corewise/engine/yield.hpp>

#include <doctest/doctest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

using namespace corewise;

namespace {

task<std::string> waits_for_its_stop(std::stop_token stop, std::atomic<int>& stopped) {
  while (!stop.stop_requested()) co_await yield();
  stopped.fetch_add(1);
  throw std::runtime_error("stopped"); // no caller sees it
  co_return "never";
}

/// Throws in the move that brings `left` to 0.
struct moves_so_often {
  explicit moves_so_often(int& moves) noexcept : left(&moves) {}
  moves_so_often(moves_so_often&& other) noexcept(false) : left(other.left) {
    if (--*left == 0) throw std::runtime_error("moved");
  }
  moves_so_often& operator=(moves_so_often&&) = delete;
  ~moves_so_often() = default;
  int* left;
};

/// Races a coroutine that runs until it is stopped with another that throws an `Error`. Checks that the
/// second is the first to end.
template <class Error, class Throws> void check_thrown(std::uint32_t workers, const Throws& throws) {
  engine e(small_profile(workers));
  std::atomic<int> stopped{0};
  const auto slow = [&](std::stop_token stop) { return waits_for_its_stop(std::move(stop), stopped); };
  const auto both = [&]() -> task<> {
    auto results = co_await when_any(slow, throws);
    static_cast<void>(std::move(results).first());
  };
  CHECK_THROWS_AS(sync_wait(e, both()), Error);
  CHECK(stopped == 1);
}

} // namespace

TEST_CASE("when_any: it returns the first result, asks the others to stop and waits for them") {
  for (const std::uint32_t workers : {1U, 4U}) {
    engine e(small_profile(workers));
    std::atomic<int> stopped{0};
    const auto slow = [&](std::stop_token stop) { return waits_for_its_stop(std::move(stop), stopped); };
    const auto quick = [](std::stop_token) -> task<int> {
      co_await yield();
      co_return 7;
    };
    const auto quiet = [](std::stop_token) -> task<> { co_await yield(); };
    const auto second = [&]() -> task<int> {
      auto results = co_await when_any(slow, quick, slow);
      auto first = std::move(results).first();
      static_assert(std::is_same_v<decltype(first), std::variant<std::string, int, std::string>>);
      co_return first.index() == 1 ? std::get<1>(first) : 0;
    };
    CHECK(sync_wait(e, second()) == 7);
    CHECK(stopped == 2);
    const auto nothing = [&]() -> task<std::size_t> {
      const auto results = co_await when_any(slow, quiet);
      co_return results.index;
    };
    CHECK(sync_wait(e, nothing()) == 1);
    CHECK(stopped == 3);
  }
}

TEST_CASE("when_any: if the first to end throws, its result throws that exception, and all have ended") {
  check_thrown<std::logic_error>(2, [](std::stop_token) -> task<int> {
    co_await yield();
    throw std::logic_error("first");
    co_return 0;
  });
}

TEST_CASE(
    "when_any: if a move of the first value throws, its result throws that exception, and all have ended") {
  engine e(small_profile(2));
  std::atomic<int> stopped{0};
  const auto slow = [&](std::stop_token stop) { return waits_for_its_stop(std::move(stop), stopped); };
  int throwing = 1;
  for (bool thrown = true; thrown; ++throwing) {
    int moves = throwing;
    const auto winner = [&](std::stop_token) -> task<moves_so_often> { co_return moves_so_often(moves); };
    const auto both = [&]() -> task<std::size_t> {
      auto results = co_await when_any(winner, slow);
      co_return std::move(results).first().index();
    };
    stopped = 0;
    try {
      const std::size_t first = sync_wait(e, both());
      CHECK(first == 0);
      thrown = false;
    } catch (const std::runtime_error& error) {
      CHECK(error.what() == std::string("moved"));
    }
    CHECK(stopped == 1);
    CHECK((moves > 0) != thrown);
  }
  CHECK(throwing > 4); // the moves into the promise and out of it, into the race and out of it
}

TEST_CASE("when_any: if the first to end gets no memory, its result throws that error") {
  const auto no_frame = [](std::stop_token) -> task<int> { throw std::bad_alloc(); };
  check_thrown<std::bad_alloc>(1, no_frame);
}

TEST_CASE("when_any: tasks and callables race together, and when_any waits for a task, which gets no stop") {
  engine e(small_profile(2));
  std::atomic<int> ended{0};
  const auto slow = [&](std::stop_token stop) { return waits_for_its_stop(std::move(stop), ended); };
  const auto late = [&]() -> task<std::string> {
    while (ended == 0) co_await yield(); // wait until the other loser has ended
    ended.fetch_add(1);
    co_return "late";
  };
  const auto quick = []() -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(7); };
  const auto first_of_three = [&]() -> task<int> {
    auto results = co_await when_any(late(), slow, quick());
    auto first = std::move(results).first();
    static_assert(
        std::is_same_v<decltype(first), std::variant<std::string, std::string, std::unique_ptr<int>>>);
    co_return first.index() == 2 ? *std::get<2>(first) : 0;
  };
  CHECK(sync_wait(e, first_of_three()) == 7);
  CHECK(ended == 2);
}

TEST_CASE("when_any: of a range it returns the place and the value of the first") {
  engine e(small_profile(2));
  std::atomic<int> stopped{0};
  const auto of_callables = [&](std::size_t winner) -> task<std::pair<std::size_t, std::size_t>> {
    std::vector<std::function<task<std::size_t>(std::stop_token)>> bodies;
    for (std::size_t i = 0; i < 10; ++i)
      bodies.emplace_back([&stopped, i, winner](std::stop_token stop) -> task<std::size_t> {
        while (i != winner && !stop.stop_requested()) co_await yield();
        stopped.fetch_add(i == winner ? 0 : 1);
        co_return i * 10;
      });
    auto results = co_await when_any(bodies);
    co_return std::move(results).first();
  };
  CHECK(sync_wait(e, of_callables(0)) == std::pair<std::size_t, std::size_t>(0, 0));
  CHECK(sync_wait(e, of_callables(7)) == std::pair<std::size_t, std::size_t>(7, 70));
  CHECK(stopped == 18);
  const auto of_tasks = [&]() -> task<std::size_t> {
    std::vector<task<>> tasks;
    for (int i = 0; i < 3; ++i)
      tasks.push_back([](int n) -> task<> {
        for (int k = n; k < 2; ++k) co_await yield();
      }(i));
    const raced_range_results<std::monostate> results = co_await when_any(std::move(tasks));
    co_return results.index;
  };
  CHECK(sync_wait(e, of_tasks()) < 3);
  const auto of_none = []() -> task<> { static_cast<void>(co_await when_any(std::vector<task<int>>())); };
  CHECK_THROWS_AS(sync_wait(e, of_none()), std::invalid_argument);
}

TEST_CASE("when_any: it returns what the losers ended with as well") {
  engine e(small_profile(2));
  std::atomic<int> stopped{0};
  const auto quick = []() -> task<int> { co_return 7; };
  const auto also = [](std::stop_token stop) -> task<std::unique_ptr<int>> {
    while (!stop.stop_requested()) co_await yield();
    co_return std::make_unique<int>(8); // it ended too late, and has something all the same
  };
  const auto throws = [&](std::stop_token stop) { return waits_for_its_stop(std::move(stop), stopped); };
  const auto race = [&]() -> task<int> {
    auto results = co_await when_any(also, quick(), throws);
    CHECK(results.index == 1);
    CHECK(std::get<1>(results.all).value() == 7);
    CHECK(std::get<1>(results.all).error() == nullptr);
    CHECK_FALSE(std::get<2>(results.all).has_value());
    CHECK_THROWS_AS(std::get<2>(results.all).value(), std::runtime_error);
    co_return *std::get<0>(results.all).value();
  };
  CHECK(sync_wait(e, race()) == 8);
}

TEST_CASE("when_any: a stop from outside reaches all racers") {
  std::atomic<int> begun{0};
  engine e(small_profile(2));
  const auto waits = [&](std::stop_token stop) -> task<bool> {
    begun.fetch_add(1);
    begun.notify_all();
    co_return co_await sleep_for(std::chrono::hours{24}, std::move(stop));
  };
  const auto two = [&](std::stop_token outer) -> task<bool> {
    auto results = co_await when_any(std::move(outer), waits, waits);
    const auto first = std::move(results).first();
    co_return first.index() == 0 ? std::get<0>(first) : std::get<1>(first);
  };
  const auto range = [&](std::stop_token outer) -> task<bool> {
    std::vector bodies(2, waits);
    auto results = co_await when_any(std::move(outer), bodies);
    co_return std::move(results).first().second;
  };
  for (const bool of_range : {false, true}) {
    std::stop_source outside;
    begun = 0;
    future<bool> came = e.run(of_range ? range(outside.get_token()) : two(outside.get_token()));
    for (int now = begun; now < 2; now = begun) begun.wait(now);
    outside.request_stop();
    CHECK_FALSE(came.get());
  }
}

TEST_CASE("when_any: when the engine ends, it drops all racers") {
  std::atomic<int> begun{0};
  engine e(small_profile(2));
  const auto owned = std::make_shared<int>(1);
  const auto waits = [&, owned](std::stop_token) -> task<> {
    std::shared_ptr<int> held; // the frame owns it
    held = owned;
    begun.fetch_add(*held);
    begun.notify_all();
    co_await sleep_for(std::chrono::hours{24});
  };
  const auto both = [&]() -> task<> { static_cast<void>(co_await when_any(waits, waits)); };
  future<void> dropped = e.run(both());
  for (int now = begun; now < 2; now = begun) begun.wait(now);
  static_cast<void>(e.shutdown(std::chrono::nanoseconds{0}));
  CHECK_THROWS_AS(dropped.get(), not_run);
  CHECK(owned.use_count() == 2); // one here, and one in `waits`
}
