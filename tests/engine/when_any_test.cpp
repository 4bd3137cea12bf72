#include "small_engine.hpp"

#include <corewise/engine/engine.hpp>
#include <corewise/engine/when_any.hpp>
#include <corewise/engine/yield.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace corewise;

namespace {

task<std::string> until_stopped(std::stop_token stop, std::atomic<int>& stopped) {
  while (!stop.stop_requested()) co_await yield();
  stopped.fetch_add(1);
  throw std::runtime_error("stopped"); // nobody hears of it
  co_return "never";
}

/// Its move throws that brings what is left to 0.
struct moves_so_often {
  explicit moves_so_often(int& moves) noexcept : left(&moves) {}
  moves_so_often(moves_so_often&& other) noexcept(false) : left(other.left) {
    if (--*left == 0) throw std::runtime_error("moved");
  }
  moves_so_often& operator=(moves_so_often&&) = delete;
  ~moves_so_often() = default;
  int* left;
};

} // namespace

TEST_CASE("when_any: the first that ends is answered, the others are asked to stop and waited for") {
  for (const std::uint32_t workers : {1U, 4U}) {
    engine e(small_profile(workers));
    std::atomic<int> stopped{0};
    const auto slow = [&](std::stop_token stop) { return until_stopped(std::move(stop), stopped); };
    const auto quick = [](std::stop_token) -> task<int> {
      co_await yield();
      co_return 7;
    };
    const auto quiet = [](std::stop_token) -> task<> { co_await yield(); };
    const auto second = [&]() -> task<int> {
      auto first = co_await when_any(slow, quick, slow);
      static_assert(std::is_same_v<decltype(first), std::variant<std::string, int, std::string>>);
      co_return first.index() == 1 ? std::get<1>(first) : 0;
    };
    CHECK(sync_wait(e, second()) == 7);
    CHECK(stopped == 2);
    const auto nothing = [&]() -> task<std::size_t> { co_return (co_await when_any(slow, quiet)).index(); };
    CHECK(sync_wait(e, nothing()) == 1);
    CHECK(stopped == 3);
  }
}

TEST_CASE("when_any: if the first that ends throws, that is thrown, when all have ended") {
  engine e(small_profile(2));
  std::atomic<int> stopped{0};
  const auto slow = [&](std::stop_token stop) { return until_stopped(std::move(stop), stopped); };
  const auto fails = [](std::stop_token) -> task<int> {
    co_await yield();
    throw std::logic_error("first");
    co_return 0;
  };
  const auto both = [&]() -> task<> { co_await when_any(slow, fails); };
  CHECK_THROWS_AS(sync_wait(e, both()), std::logic_error);
  CHECK(stopped == 1);
}

TEST_CASE("when_any: whichever move of the first one's value throws, that is thrown, when all have ended") {
  engine e(small_profile(2));
  std::atomic<int> stopped{0};
  const auto slow = [&](std::stop_token stop) { return until_stopped(std::move(stop), stopped); };
  int throwing = 1;
  for (bool thrown = true; thrown; ++throwing) {
    int moves = throwing;
    const auto winner = [&](std::stop_token) -> task<moves_so_often> { co_return moves_so_often(moves); };
    const auto both = [&]() -> task<std::size_t> { co_return (co_await when_any(winner, slow)).index(); };
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
  CHECK(throwing > 4); // into the promise and out of it, into the race, out of it
}

TEST_CASE("when_any: memory that one of them does not get is the answer, if it is the first to end") {
  engine e(small_profile(1));
  std::atomic<int> stopped{0};
  const auto slow = [&](std::stop_token stop) { return until_stopped(std::move(stop), stopped); };
  const auto no_frame = [](std::stop_token) -> task<int> { throw std::bad_alloc(); };
  const auto both = [&]() -> task<> { co_await when_any(slow, no_frame); };
  CHECK_THROWS_AS(sync_wait(e, both()), std::bad_alloc);
  CHECK(stopped == 1);
}
