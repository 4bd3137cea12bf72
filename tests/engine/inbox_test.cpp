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
