#include "queues/segment_writer.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

using namespace corewise;
using namespace corewise::detail;

TEST_CASE("injection queue: between producers and consumers no task is lost, taken twice or overtaken by a "
          "later one") {
  constexpr std::size_t producers = 2;
  constexpr std::size_t each = 20'000;
  std::vector<task_header> tasks(producers * each);
  std::vector<std::atomic<int>> taken(tasks.size());
  std::atomic<std::size_t> left{tasks.size()};
  std::atomic<int> overtaken{0};
  std::atomic<int> too_long{0};
  injection_queue queue;
  std::vector<std::thread> threads;
  for (std::size_t p = 0; p < producers; ++p)
    threads.emplace_back([&, p] {
      for (std::size_t i = 0; i < each; ++i) queue.push(&tasks[p * each + i]);
    });
  for (std::uint32_t most = 1; most <= 3; ++most)
    threads.emplace_back([&, most] {
      std::vector<std::size_t> next(producers); // for each producer: the least number that may come
      while (left.load() != 0) {
        if (queue.size() > tasks.size()) too_long.fetch_add(1);
        task_chain some = queue.pop(most);
        if (some.size == 0) std::this_thread::yield();
        while (const task_header* t = some.pop()) {
          const auto number = static_cast<std::size_t>(t - tasks.data());
          if (number % each < next[number / each]) overtaken.fetch_add(1);
          next[number / each] = number % each + 1;
          taken[number].fetch_add(1);
          left.fetch_sub(1);
        }
      }
    });
  for (std::thread& t : threads) t.join();
  for (const auto& times : taken) REQUIRE(times.load() == 1);
  CHECK(overtaken == 0);
  CHECK(too_long == 0);
  CHECK(queue.size() == 0);
  CHECK(queue.put() == tasks.size());
}

namespace {

/// The closures that a writer injects: every third one is no copy.
struct numbered {
  std::vector<std::atomic<int>>* taken;
  std::uint64_t number;
  void operator()() const { (*taken)[number].fetch_add(1); }
};
struct numbered_elsewhere : numbered {
  std::uint64_t more[2] = {};
};

task_header* numbered_task(std::vector<std::atomic<int>>& taken, std::uint64_t number) {
  if (number % 3 == 0) return make_closure(numbered_elsewhere{{&taken, number}});
  return make_closure(numbered{&taken, number});
}

/// Returns the task's number.
std::uint64_t number_of(const task_header* t) {
  if (!t->relocatable) return static_cast<const closure<numbered_elsewhere>*>(t)->function.number;
  return static_cast<const closure<numbered>*>(t)->function.number;
}

} // namespace

TEST_CASE(
    "injection queue: segments keep the order and the kind of each writer's tasks, and tell how many wait") {
  std::uint32_t tasks = 0;
  SUBCASE("one full") { tasks = task_segment::capacity; }
  SUBCASE("two full") { tasks = 2 * task_segment::capacity; }
  SUBCASE("the last one not full") { tasks = 3 * task_segment::capacity + 5; }
  std::vector<std::atomic<int>> taken(tasks);
  injection_queue queue;
  segment_writer writer;
  for (std::uint32_t i = 0; i < tasks; ++i) {
    task_header* t = numbered_task(taken, i);
    t->phase = i % 2;
    writer.push(queue, t);
    CHECK(queue.count() == i + 1);
    CHECK(queue.size() >= i + 1);
  }
  std::uint32_t next = 0;
  for (std::uint32_t most = 1; next < tasks; most = most % 50 + 1) {
    task_chain some = queue.pop(most);
    CHECK(some.size == std::min(most, tasks - next));
    for (; task_header* t = some.pop(); ++next) {
      CHECK(number_of(t) == next);
      CHECK(t->phase == next % 2);
      CHECK(t->relocatable == (next % 3 != 0));
      CHECK(t->act(t, task_action::run));
    }
    CHECK(queue.count() == tasks - next);
  }
  CHECK(queue.size() == 0);
  for (const auto& times : taken) CHECK(times == 1);
}

TEST_CASE(
    "injection queue: when many tasks wait, its length counts up to one segment too much for each writer") {
  constexpr std::uint32_t tasks = 20 * task_segment::capacity;
  std::vector<std::atomic<int>> taken(2 * tasks);
  injection_queue queue;
  segment_writer writers[2];
  for (std::uint32_t i = 1; i < 2 * tasks; ++i) {
    if (i % 3 == 0) continue;
    writers[i % 2].push(queue, numbered_task(taken, i));
  }
  const std::uint32_t put = 2 * tasks - 1 - (2 * tasks - 1) / 3;
  CHECK(queue.count() >= put);
  CHECK(queue.count() < put + 2 * task_segment::capacity);
  std::uint32_t left = put;
  for (task_chain some = queue.pop(50); some.size != 0; some = queue.pop(50))
    while (task_header* t = some.pop()) {
      t->act(t, task_action::run);
      --left;
    }
  CHECK(left == 0);
  CHECK(queue.size() == 0);
}

TEST_CASE("injection queue: a long row begins a segment, but not with a task that is no copy, which goes "
          "into it later") {
  constexpr std::uint32_t before = segment_writer::long_row - 1;
  std::vector<std::atomic<int>> taken(before + 4);
  injection_queue queue;
  segment_writer writer;
  auto push = [&, next = 0U](bool copy) mutable {
    const numbered what{&taken, next++};
    writer.push(queue, copy ? make_closure(what) : make_closure(numbered_elsewhere{what}));
  };
  for (std::uint32_t i = 0; i < before; ++i) push(true);
  push(false);
  CHECK(queue.size() == before + 1);
  push(true);
  CHECK(queue.size() == before + 1 + task_segment::capacity);
  push(false);
  push(true);
  CHECK(queue.size() == before + 1 + task_segment::capacity);
  CHECK(queue.count() == before + 4);
  task_chain all = queue.pop(2 * task_segment::capacity);
  for (std::uint32_t number = 0; number < before + 4; ++number) {
    task_header* t = all.pop();
    REQUIRE(t != nullptr);
    CHECK(number_of(t) == number);
    t->act(t, task_action::run);
  }
  CHECK(queue.size() == 0);
}

TEST_CASE("injection queue: a writer that goes from queue to queue begins no segments for short rows, and "
          "leaves no room "
          "in those of longer ones") {
  for (const std::uint32_t row : {1U, segment_writer::long_row, segment_writer::long_row + 4}) {
    CAPTURE(row);
    constexpr std::uint32_t rows = 100;
    std::vector<std::atomic<int>> taken(std::size_t{2} * rows * row);
    injection_queue queues[2];
    segment_writer writer;
    std::uint32_t next = 0;
    for (std::uint32_t r = 0; r < 2 * rows; ++r)
      for (std::uint32_t i = 0; i < row; ++i)
        writer.push(queues[r % 2], make_closure(numbered{&taken, next++}));
    writer.end_row();
    for (injection_queue& q : queues) {
      CHECK(q.size() == rows * row);
      CHECK(q.count() == rows * row);
      task_chain all = q.pop(rows * row);
      CHECK(all.size == rows * row);
      while (task_header* t = all.pop()) t->act(t, task_action::run);
      CHECK(q.size() == 0);
    }
    for (const auto& times : taken) CHECK(times == 1);
  }
}

TEST_CASE("injection queue: a writer whose segment was abandoned goes on in another one, and has one in each "
          "queue") {
  std::vector<std::atomic<int>> taken(6);
  injection_queue queues[2];
  segment_writer writer;
  const auto take = [&](injection_queue& from) {
    task_header* t = from.pop(1).first;
    REQUIRE(t != nullptr);
    const std::uint64_t number = number_of(t);
    t->act(t, task_action::run);
    return number;
  };
  for (std::uint32_t row = 0; row < segment_writer::long_row; ++row) {
    writer.push(queues[0], make_closure(numbered{&taken, 0}));
    CHECK(take(queues[0]) == 0);
    CHECK(queues[0].size() == 0);
  }
  writer.push(queues[0], numbered_task(taken, 1));
  writer.push(queues[0], numbered_task(taken, 2));
  writer.push(queues[1], numbered_task(taken, 3));
  writer.push(queues[0], numbered_task(taken, 4));
  CHECK(queues[0].count() == 3);
  CHECK(queues[1].count() == 1);
  CHECK(take(queues[1]) == 3);
  for (const std::uint64_t number : {1U, 2U, 4U}) CHECK(take(queues[0]) == number);
  for (injection_queue& q : queues) CHECK(q.size() == 0);
}

TEST_CASE("injection queue: between writers and takers no task is lost, taken twice or overtaken by a later "
          "one of its writer") {
  constexpr std::uint64_t writers = 3;
  constexpr std::uint64_t each = 20'000;
  std::vector<std::atomic<int>> taken(writers * each);
  std::atomic<std::uint64_t> left{taken.size()};
  std::atomic<int> overtaken{0};
  injection_queue queue;
  injection_queue other; // the writers use it now and then, too
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t w = 0; w < writers; ++w)
      threads.emplace_back([&, w] {
        segment_writer writer;
        for (std::uint64_t i = 0; i < each; ++i) {
          writer.push(i % 701 == 700 ? other : queue, numbered_task(taken, w * each + i));
          if (i % 97 == 0) std::this_thread::yield(); // so that takers come to the end
        }
      });
    for (std::uint32_t most = 1; most <= 3; ++most)
      threads.emplace_back([&, most] {
        std::vector<std::uint64_t> next(writers);
        const auto take = [&](injection_queue& from, bool in_order) {
          task_chain some = from.pop(most);
          while (task_header* t = some.pop()) {
            const std::uint64_t number = number_of(t);
            if (in_order) {
              if (number < next[number / each]) overtaken.fetch_add(1);
              next[number / each] = number + 1;
            }
            t->act(t, task_action::run);
            left.fetch_sub(1);
          }
        };
        while (left != 0) {
          take(queue, true);
          take(other, false);
        }
      });
  }
  for (const auto& times : taken) REQUIRE(times == 1);
  CHECK(overtaken == 0);
  for (injection_queue* q : {&queue, &other}) {
    CHECK(q->size() == 0);
    CHECK(q->count() == 0);
  }
}
