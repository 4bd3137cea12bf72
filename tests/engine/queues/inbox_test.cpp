#include "queues/inbox.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

using namespace corewise;

namespace {

struct box {
  explicit box(std::size_t capacity) : cells(capacity), in(entry, cells) {}

  board_entry entry;
  std::vector<detail::inbox::cell> cells;
  detail::inbox in;
};

} // namespace

TEST_CASE("inbox: it is first in, first out, and a push into a full inbox says so") {
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

TEST_CASE("inbox: it tells the arrival of its oldest task, if that is known") {
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

TEST_CASE("inbox: arrivals are compared modulo 2^32, and an unknown arrival is not compared") {
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
  b.entry.producers.inbox_in = first;
  b.entry.owner.inbox_out = first;
  for (std::uint64_t i = 0; i < 4; ++i) b.cells[i].sequence = (first + i) % (std::uint64_t{1} << 31);
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

namespace {

struct two_words {
  std::uint64_t* sum;
  std::uint64_t number;
  void operator()() const { *sum += number; }
};
struct three_words : two_words {
  std::uint64_t another;
};
struct owner_of_a_word {
  std::unique_ptr<int> word;
  void operator()() const {}
};
struct alignas(16) wide {
  std::uint64_t word;
  void operator()() const {}
};
struct nothing {
  void operator()() const {}
};

/// Returns whether a released block is acquired again; AddressSanitizer prevents that.
bool blocks_are_recycled() {
  void* const one = detail::acquire_block(0);
  detail::release_block(one, 0);
  void* const other = detail::acquire_block(0);
  detail::release_block(other, 0);
  return one == other;
}

/// Three threads push `task(i)` for each i; two threads take all tasks out and `consume` them.
template <class Task, class Consume>
void pass_through(std::size_t number, const Task& task, const Consume& consume) {
  constexpr std::size_t producers = 3;
  box b(64);
  std::atomic<std::size_t> left{number};
  std::vector<std::jthread> threads;
  for (std::size_t p = 0; p < producers; ++p)
    threads.emplace_back([&, p] {
      for (std::size_t i = p; i < number; i += producers)
        for (task_header* t = task(i); !b.in.push(t);) std::this_thread::yield();
    });
  for (int c = 0; c < 2; ++c)
    threads.emplace_back([&] {
      while (left.load() != 0) {
        if (task_header* t = b.in.pop()) {
          consume(t);
          left.fetch_sub(1);
        } else {
          std::this_thread::yield();
        }
      }
    });
  threads.clear(); // joins
}

bool each_once(const std::vector<std::atomic<int>>& times) {
  return std::ranges::all_of(times, [](const auto& n) { return n.load() == 1; });
}

template <class F> bool relocatable(F f) {
  task_header* t = make_closure(std::move(f));
  const bool answer = t->relocatable;
  t->act(t, task_action::discard);
  return answer;
}

} // namespace

TEST_CASE("inbox: a closure of two words that owns nothing is carried as a copy, and no other task is") {
  std::uint64_t sum = 0;
  CHECK(relocatable(two_words{&sum, 1}));
  CHECK(relocatable(nothing{}));
  CHECK_FALSE(relocatable(three_words{{&sum, 1}, 2}));
  CHECK_FALSE(relocatable(owner_of_a_word{}));
  CHECK_FALSE(relocatable(wide{1}));
  CHECK_FALSE(task_header{}.relocatable);
}

TEST_CASE("inbox: a copy does the same as its task, in the same phase, and carries no block") {
  box b(4);
  std::uint64_t sum = 0;
  std::uint64_t expected = 0;
  for (const std::uint8_t phase : {std::uint8_t{0}, std::uint8_t{1}}) {
    std::vector<task_header*> blocks;
    for (std::uint64_t i = 0; i < 4; ++i) {
      task_header* t = make_closure(two_words{&sum, ~std::uint64_t{0} - i});
      t->phase = phase;
      blocks.push_back(t);
      REQUIRE(b.in.push(t, 5));
      expected -= i + 1;
    }
    if (blocks_are_recycled())
      CHECK(std::ranges::count(blocks, blocks.front()) == 4); // each block was used again at once
    CHECK(b.in.oldest() == 5U);
    for (int i = 0; i < 4; ++i) {
      task_header* t = b.in.pop();
      REQUIRE(t != nullptr);
      CHECK(t->phase == phase);
      CHECK(t->run_as == task_class::normal);
      CHECK(t->act(t, task_action::run));
    }
    CHECK(b.in.pop() == nullptr);
  }
  CHECK(sum == expected);
}

TEST_CASE("inbox: a latency or background task comes out in the block in which it went in") {
  box b(4);
  std::uint64_t sum = 0;
  for (const task_class c : {task_class::latency, task_class::background}) {
    task_header* t = make_closure(two_words{&sum, 1});
    t->run_as = c;
    REQUIRE(b.in.push(t));
    REQUIRE(b.in.pop() == t);
    CHECK(t->run_as == c);
    CHECK(t->act(t, task_action::run));
  }
  CHECK(sum == 2);
}

TEST_CASE("inbox: many producers and takers pass every task exactly once") {
  std::vector<task_header> tasks(300'000);
  std::vector<std::atomic<int>> taken(tasks.size());
  pass_through(
      tasks.size(), [&](std::size_t i) { return &tasks[i]; },
      [&](const task_header* t) { taken[static_cast<std::size_t>(t - tasks.data())].fetch_add(1); });
  CHECK(each_once(taken));
}

TEST_CASE("inbox: many producers and takers pass every copy exactly once") {
  std::vector<std::atomic<int>> run(300'000);
  pass_through(
      run.size(), [&](std::size_t i) { return make_closure([mine = &run[i]] { mine->fetch_add(1); }); },
      [](task_header* t) { static_cast<void>(t->act(t, task_action::run)); });
  CHECK(each_once(run));
}
