#include "inbox.hpp"

#include <doctest/doctest.h>

#include <thread>
#include <vector>

using namespace corewise;

namespace {

struct box {
  explicit box(std::size_t capacity) : cells(capacity), in(slot, cells) {}

  load_slot slot;
  std::vector<detail::inbox::cell> cells;
  detail::inbox in;
};

} // namespace

TEST_CASE("inbox: first in, first out; full is said") {
  box b(4);
  std::vector<task_header> tasks(5);
  CHECK_FALSE(b.in.ready());
  for (int round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < 4; ++i) CHECK(b.in.push(&tasks[i]));
    CHECK_FALSE(b.in.push(&tasks[4]));
    CHECK(b.in.size() == 4);
    CHECK(b.in.ready());
    for (std::size_t i = 0; i < 4; ++i) CHECK(b.in.pop() == &tasks[i]);
    CHECK(b.in.pop() == nullptr);
  }
  CHECK(b.in.put() == 12);
  CHECK(b.in.taken() == 12);
}

TEST_CASE("inbox: says when its oldest task came, if that is known") {
  box b(4);
  task_header t;
  CHECK(b.in.oldest() == std::nullopt);
  for (int round = 0; round < 3; ++round) {
    REQUIRE(b.in.push(&t, 7));
    REQUIRE(b.in.push(&t));
    REQUIRE(b.in.push(&t, ~detail::arrival{0}));
    CHECK(b.in.oldest() == 7U);
    CHECK(b.in.pop() == &t);
    CHECK(b.in.oldest() == 0U);
    CHECK(b.in.pop() == &t);
    CHECK(b.in.oldest() == ~detail::arrival{0});
    CHECK(b.in.pop() == &t);
    CHECK(b.in.oldest() == std::nullopt);
  }
}

TEST_CASE("inbox: arrivals are compared modulo 2^32, and not where one is unknown") {
  CHECK(detail::came_before(1, 2));
  CHECK_FALSE(detail::came_before(2, 1));
  CHECK_FALSE(detail::came_before(2, 2));
  CHECK(detail::came_before(0xffff'fff0, 5));
  CHECK_FALSE(detail::came_before(5, 0xffff'fff0));
  CHECK_FALSE(detail::came_before(0, 5));
  CHECK_FALSE(detail::came_before(5, 0));
}

TEST_CASE("inbox: positions go beyond 2^32") {
  box b(4);
  constexpr std::uint64_t first = (std::uint64_t{1} << 32) - 4;
  b.slot.producers.inbox_in = first;
  b.slot.owner.inbox_out = first;
  for (std::uint64_t i = 0; i < 4; ++i) b.cells[i].sequence = first + i;
  std::vector<task_header> tasks(5);
  for (int round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < 4; ++i) CHECK(b.in.push(&tasks[i], 9));
    CHECK_FALSE(b.in.push(&tasks[4], 9));
    CHECK(b.in.ready());
    CHECK(b.in.oldest() == 9U);
    for (std::size_t i = 0; i < 4; ++i) CHECK(b.in.pop() == &tasks[i]);
    CHECK(b.in.pop() == nullptr);
    CHECK_FALSE(b.in.ready());
    CHECK(b.in.oldest() == std::nullopt);
  }
  CHECK(b.in.put() == first + 12);
}

TEST_CASE("inbox: many producers and takers pass every task exactly once") {
  constexpr std::size_t each = 100'000;
  constexpr std::size_t producers = 3;
  box b(64);
  std::vector<task_header> tasks(each * producers);
  std::vector<std::atomic<int>> taken(tasks.size());
  std::atomic<std::size_t> left{tasks.size()};
  std::vector<std::thread> threads;
  for (std::size_t p = 0; p < producers; ++p)
    threads.emplace_back([&, p] {
      for (std::size_t i = 0; i < each; ++i)
        while (!b.in.push(&tasks[p * each + i])) std::this_thread::yield();
    });
  for (int c = 0; c < 2; ++c)
    threads.emplace_back([&] {
      while (left.load() != 0) {
        task_header* t = b.in.pop();
        if (t == nullptr) {
          std::this_thread::yield();
          continue;
        }
        taken[static_cast<std::size_t>(t - tasks.data())].fetch_add(1);
        left.fetch_sub(1);
      }
    });
  for (auto& t : threads) t.join();
  CHECK(std::all_of(taken.begin(), taken.end(), [](const auto& n) { return n.load() == 1; }));
}
