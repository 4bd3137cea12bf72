// `when_all`: the values or the exception that the parent gets.

#include "children.hpp"
#include "fib.hpp"
#include "small_engine.hpp"

#include <corewise/engine/engine.hpp>
#include <corewise/engine/when_all.hpp>
#include <corewise/engine/yield.hpp>
#include <corewise/policies/steal_policy.hpp>

#include <doctest/doctest.h>

#include <array>
#include <numeric>
#include <optional>
#include <random>
#include <ranges>

using namespace corewise;
using namespace corewise::tests;

namespace {

task<int> answer_later(int n) {
  for (int i = 0; i < n % 4; ++i) co_await yield();
  co_return n;
}

task<int> fails(std::string what, bool later) {
  if (later) co_await yield();
  throw std::runtime_error(what);
  co_return 0;
}

/// Awaits three children, of which the given ones fail. Returns the message of the failure, or "none".
task<std::string> first_of_failures(std::array<bool, 3> failing, bool later) {
  const auto child = [&](std::size_t i) {
    return failing[i] ? fails(std::string(1, char('a' + i)), later) : answer(1);
  };
  try {
    co_await when_all(child(0), child(1), child(2));
  } catch (const std::runtime_error& e) {
    co_return e.what();
  }
  co_return "none";
}

/// A tree that is the same for the same seed: which nodes fail, how often each is suspended, and how many
/// children it forks.
struct random_tree {
  std::uint64_t seed;
  int depth;

  std::uint64_t draw(std::uint64_t what) const noexcept {
    std::uint64_t x = seed + what * 0x9e3779b97f4a7c15ULL;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
    return x ^ x >> 31;
  }
  bool leaf() const noexcept { return depth == 0 || draw(1) % 8 == 0; }
  bool leaf_fails() const noexcept { return draw(2) % 16 == 0; }
  bool catches() const noexcept { return draw(3) % 2 == 0; }
  long value() const noexcept { return static_cast<long>(draw(4) % 100); }
  std::uint64_t children() const noexcept { return 1 + draw(5) % 4; }
  std::uint64_t pauses(std::uint64_t when) const noexcept { return draw(6 + when) % 4 / 2; }
  random_tree child(std::uint64_t i) const noexcept { return {draw(100 + i), depth - 1}; }

  /// Returns its value, or nothing if it fails.
  std::optional<long> grow() const {
    if (leaf()) return leaf_fails() ? std::nullopt : std::optional(value());
    long sum = value();
    bool failed = false;
    for (std::uint64_t i = 0; i < children(); ++i) {
      const std::optional<long> below = child(i).grow();
      failed = failed || !below;
      sum += below.value_or(0);
    }
    if (!failed) return sum;
    return catches() ? std::optional(1L) : std::nullopt;
  }

  static task<long> grown(random_tree t) {
    for (std::uint64_t i = 0; i < t.pauses(0); ++i) co_await yield();
    if (t.leaf()) {
      if (t.leaf_fails()) throw std::runtime_error("leaf");
      co_return t.value();
    }
    long sum = t.value();
    try {
      if (t.children() == 2) {
        auto [a, b] = co_await when_all(grown(t.child(0)), grown(t.child(1)));
        sum += a + b;
      } else {
        std::vector<task<long>> all;
        for (std::uint64_t i = 0; i < t.children(); ++i) all.push_back(grown(t.child(i)));
        for (const long below : co_await when_all(std::move(all))) sum += below;
      }
    } catch (const std::runtime_error&) {
      if (!t.catches()) throw;
      sum = 1;
    }
    for (std::uint64_t i = 0; i < t.pauses(1); ++i) co_await yield();
    co_return sum;
  }
};

} // namespace

TEST_CASE("when_all: fib is right with one worker, two and eight") {
  for (const std::uint32_t workers : {1U, 2U, 8U}) {
    CAPTURE(workers);
    CHECK(run_on(workers, fib(25)) == 75025);
  }
}

TEST_CASE("when_all: fib is right under every steal policy") {
  for (const std::string_view policy : steal_policy_names()) {
    CAPTURE(policy);
    profile p = small_profile(8);
    p.steal.policy = policy;
    engine e(p);
    CHECK(sync_wait(e, fib(20)) == 6765);
  }
}

TEST_CASE("when_all: values come in the order of the arguments, in any order of ending") {
  const auto body = []() -> task<std::tuple<int, int, int, int>> {
    co_return co_await when_all(answer_later(3), answer_later(2), answer_later(1), answer_later(0));
  };
  for (const std::uint32_t workers : {1U, 4U}) CHECK(run_on(workers, body()) == std::tuple(3, 2, 1, 0));
}

TEST_CASE("when_all: a void child is a monostate among values, and void children alone give no value") {
  std::atomic<int> n{0};
  const auto body = [](std::atomic<int>& counted) -> task<int> {
    auto [seven, nothing] = co_await when_all(answer(7), count(counted));
    static_assert(std::is_same_v<decltype(nothing), std::monostate>);
    co_await when_all(count(counted), count(counted));
    co_return seven;
  };
  CHECK(run_on(2, body(n)) == 7);
  CHECK(n == 3);
}

TEST_CASE("when_all: a range of any size, also of none") {
  const auto body = [](int size) -> task<long> {
    std::vector<task<int>> children;
    for (int i = 0; i < size; ++i) children.push_back(answer_later(i));
    const std::vector<int> values = co_await when_all(std::move(children));
    for (int i = 0; i < size; ++i)
      if (values[static_cast<std::size_t>(i)] != i) co_return -1;
    co_return std::accumulate(values.begin(), values.end(), 0L);
  };
  for (const int size : {0, 1, 2, 1000})
    for (const std::uint32_t workers : {1U, 4U}) {
      CAPTURE(size);
      CHECK(run_on(workers, body(size)) == size * (size - 1L) / 2);
    }
}

TEST_CASE("when_all: children in a std::array or a bounded_vector, also none, give their values in another") {
  const auto body = []() -> task<int> {
    std::array three{answer_later(1), answer_later(2), answer_later(3)};
    const std::array<int, 3> first = co_await when_all(std::move(three));
    bounded_vector<task<int>, 5> two;
    two.push_back(answer_later(7));
    two.push_back(answer_later(5));
    const bounded_vector<int, 5> second = co_await when_all(std::move(two));
    const auto none = co_await when_all(bounded_vector<task<int>, 5>());
    co_return first[0] * 10000 + first[1] * 1000 + first[2] * 100 + second[0] * 10 + second[1] +
        static_cast<int>(none.size());
  };
  for (const std::uint32_t workers : {1U, 4U}) CHECK(run_on(workers, body()) == 12375);
}

TEST_CASE("when_all: a range of at most so many children gives their values in order") {
  const auto body = [](int size) -> task<long> {
    const auto values =
        co_await when_all<200>(std::views::iota(0, size) | std::views::transform(answer_later));
    static_assert(std::is_same_v<decltype(values), const bounded_vector<int, 200>>);
    for (int i = 0; i < size; ++i)
      if (values[static_cast<std::size_t>(i)] != i) co_return -1;
    co_return std::accumulate(values.begin(), values.end(), 0L);
  };
  for (const int size : {0, 1, 2, 199, 200})
    for (const std::uint32_t workers : {1U, 4U}) {
      CAPTURE(size);
      CHECK(run_on(workers, body(size)) == size * (size - 1L) / 2);
    }
}

TEST_CASE("when_all: a container whose tasks have run is empty, and may be filled again") {
  const auto body = []() -> task<int> {
    bounded_vector<task<int>, 4> few;
    std::vector<task<int>> many;
    int sum = 0;
    for (int i = 0; i < 3; ++i) {
      few.push_back(answer_later(i));
      for (const int value : co_await when_all(few)) sum += value;
      many.push_back(answer_later(i));
      for (const int value : co_await when_all<4>(many)) sum += value;
      many.push_back(answer_later(i));
      for (const int value : co_await when_all(many)) sum += value;
    }
    co_return sum;
  };
  CHECK(run_on(2, body()) == 9);
}

TEST_CASE("when_all: if a range has more children than were announced, none of them runs") {
  std::atomic<int> n{0};
  const auto body = [](std::atomic<int>& counted, int size) -> task<> {
    co_await when_all<3>(std::views::iota(0, size) |
                         std::views::transform([&](int) { return count(counted); }));
  };
  run_on(2, body(n, 3));
  CHECK(n == 3);
  CHECK_THROWS_AS(run_on(2, body(n, 4)), std::length_error);
  CHECK(n == 3);
}

TEST_CASE("when_all: it throws the leftmost exception when all have ended, for any set of children that "
          "fail, at once or later") {
  for (const bool later : {false, true})
    for (unsigned which = 0; which < 8; ++which) {
      const std::array failing{(which & 1) != 0, (which & 2) != 0, (which & 4) != 0};
      std::string expected = "none";
      for (std::size_t i = 3; i-- > 0;)
        if (failing[i]) expected = std::string(1, char('a' + i));
      CAPTURE(which);
      CHECK(run_on(2, first_of_failures(failing, later)) == expected);
    }
}

TEST_CASE("when_all: random trees, whose nodes fork, suspend, fail and catch, give the right values") {
  const std::uint64_t first = std::random_device()();
  for (const std::uint32_t workers : {1U, 2U, 8U}) {
    engine e(small_profile(workers));
    for (std::uint64_t seed = first; seed < first + 100; ++seed) {
      CAPTURE(workers);
      CAPTURE(seed);
      const random_tree tree{seed, 6};
      std::optional<long> found;
      try {
        found = sync_wait(e, random_tree::grown(tree));
      } catch (const std::runtime_error&) {
        found.reset();
      }
      CHECK(found == tree.grow());
    }
  }
}

TEST_CASE("when_all: outside of an engine's tasks it is refused") {
  const auto body = []() -> task<> { co_await when_all(answer(1), answer(2)); };
  auto alone = body();
  auto&& awaiter = std::move(alone).operator co_await();
  awaiter.await_suspend(std::noop_coroutine()).resume();
  CHECK_THROWS_AS(awaiter.await_resume(), std::logic_error);
}
