#include "queues/local_queue.hpp"

#include <doctest/doctest.h>

#include <thread>
#include <vector>

using namespace corewise;
using detail::local_queue;
using detail::task_chain;

namespace {

/// A ring with its entry and cells, and tasks with numbers.
struct ring {
  explicit ring(std::size_t capacity) : cells(capacity), queue(entry, cells, takers) {}

  board_entry entry;
  detail::sole_taker takers{false};
  std::vector<local_queue::cell> cells;
  local_queue queue;
};

std::vector<task_header> make_tasks(std::size_t n) { return std::vector<task_header>(n); }

std::vector<task_header*> to_vector(task_chain chain) {
  std::vector<task_header*> out;
  while (task_header* t = chain.pop()) out.push_back(t);
  return out;
}

} // namespace

TEST_CASE("local queue: first in, first out, also past the end of the ring") {
  ring r(4);
  auto tasks = make_tasks(100);
  for (std::size_t i = 0; i + 1 < tasks.size(); i += 2) {
    CHECK(r.queue.push(&tasks[i]));
    CHECK(r.queue.push(&tasks[i + 1]));
    CHECK(r.queue.size() == 2);
    CHECK(r.queue.pop() == &tasks[i]);
    CHECK(r.queue.pop() == &tasks[i + 1]);
    CHECK(r.queue.pop() == nullptr);
  }
}

TEST_CASE("local queue: a task that is exchanged for the oldest goes behind all others") {
  ring r(4);
  auto tasks = make_tasks(5);
  const auto exchange = [&](task_header& in) {
    task_header* t = &in;
    return r.queue.exchange_oldest(t) ? t : nullptr;
  };
  CHECK(exchange(tasks[0]) == &tasks[0]); // the ring is empty
  CHECK(r.queue.taken() == 1);
  for (std::size_t i = 0; i < 3; ++i) CHECK(r.queue.push(&tasks[i]));
  CHECK(exchange(tasks[3]) == &tasks[0]);
  CHECK(r.queue.size() == 3);
  CHECK(r.queue.push(&tasks[0]));
  CHECK(exchange(tasks[4]) == nullptr); // the ring is full
  for (const unsigned i : {1U, 2U, 3U, 0U}) CHECK(r.queue.pop() == &tasks[i]);
  CHECK(r.queue.pop() == nullptr);
}

TEST_CASE("local queue: a full queue refuses a push, and shedding takes the older half out") {
  ring r(8);
  auto tasks = make_tasks(9);
  for (std::size_t i = 0; i < 8; ++i) CHECK(r.queue.push(&tasks[i]));
  CHECK_FALSE(r.queue.push(&tasks[8]));
  CHECK(to_vector(r.queue.shed()) == std::vector{&tasks[0], &tasks[1], &tasks[2], &tasks[3]});
  CHECK(r.queue.size() == 4);
  CHECK(r.queue.push(&tasks[8]));
  CHECK(r.queue.pop() == &tasks[4]);
}

TEST_CASE("local queue: a thief takes half, rounded up, the oldest first, and no more than it may") {
  ring r(16);
  auto tasks = make_tasks(7);
  for (auto& t : tasks) CHECK(r.queue.push(&t));
  CHECK(to_vector(r.queue.steal(100)) == std::vector{&tasks[0], &tasks[1], &tasks[2], &tasks[3]});
  CHECK(to_vector(r.queue.steal(1)) == std::vector{&tasks[4]});
  CHECK(to_vector(r.queue.steal(100)) == std::vector{&tasks[5]});
  CHECK(to_vector(r.queue.steal(100)) == std::vector{&tasks[6]});
  CHECK(r.queue.steal(100).size == 0);
  CHECK(r.queue.size() == 0);
  CHECK(r.queue.taken() == 7);
}

TEST_CASE("local queue: owner and thieves first take the tasks that were put in front") {
  ring r(8);
  auto tasks = make_tasks(10);
  for (std::size_t i = 0; i < 4; ++i) CHECK(r.queue.push(&tasks[i]));
  CHECK(r.queue.pop() == &tasks[0]);
  task_chain batch;
  for (std::size_t i = 4; i < 8; ++i) batch.push(&tasks[i]);
  CHECK(r.queue.push_front(batch) == 4);
  CHECK(batch.size == 0);
  CHECK(r.queue.size() == 7);
  CHECK(r.queue.pop() == &tasks[4]);
  CHECK(to_vector(r.queue.steal(100)) == std::vector{&tasks[5], &tasks[6], &tasks[7]});
  CHECK(to_vector(r.queue.steal(100)) == std::vector{&tasks[1], &tasks[2]});
  CHECK(r.queue.pop() == &tasks[3]);
  CHECK(r.queue.pop() == nullptr);
}

TEST_CASE("local queue: tasks without room in front stay in their place") {
  ring r(4);
  auto tasks = make_tasks(6);
  for (std::size_t i = 0; i < 2; ++i) CHECK(r.queue.push(&tasks[i]));
  task_chain batch;
  for (std::size_t i = 2; i < 5; ++i) batch.push(&tasks[i]);
  CHECK(r.queue.push_front(batch) == 0);
  CHECK(batch.size == 3);
  CHECK(batch.pop() == &tasks[2]);
  CHECK(r.queue.push_front(batch) == 2);
  CHECK_FALSE(r.queue.push(&tasks[5]));
  CHECK(to_vector(r.queue.shed()) == std::vector{&tasks[3], &tasks[4]});
}

TEST_CASE("local queue: no task is lost or taken twice while batches are put in front") {
  constexpr std::size_t count = 200'000;
  ring r(64);
  auto tasks = make_tasks(count);
  std::vector<std::atomic<int>> taken(count);
  const auto take = [&](task_header* t) { taken[static_cast<std::size_t>(t - tasks.data())].fetch_add(1); };
  std::atomic<bool> done{false};
  std::vector<std::thread> thieves;
  for (int i = 0; i < 3; ++i)
    thieves.emplace_back([&] {
      while (!done.load())
        for (task_header* t : to_vector(r.queue.steal(16))) take(t);
    });
  std::size_t in_front = 0;
  for (std::size_t i = 0; i < count;) {
    task_chain batch;
    for (std::size_t n = 0; n < 5 && i < count; ++n) batch.push(&tasks[i++]);
    in_front += i % 10 == 0 ? r.queue.push_front(batch) : 0;
    while (task_header* t = batch.pop())
      if (!r.queue.push(t)) take(t);
    for (int n = 0; n < 4; ++n)
      if (task_header* t = r.queue.pop()) take(t);
  }
  while (task_header* t = r.queue.pop()) take(t);
  done.store(true);
  for (auto& t : thieves) t.join();
  while (task_header* t = r.queue.pop()) take(t);
  CHECK(std::all_of(taken.begin(), taken.end(), [](const auto& n) { return n.load() == 1; }));
  CHECK(in_front > 0);
}

TEST_CASE("local queue: owner and thieves never both take a task, and none is lost") {
  constexpr std::size_t count = 200'000;
  ring r(64);
  auto tasks = make_tasks(count);
  std::vector<std::atomic<int>> taken(count);
  const auto take = [&](task_header* t) { taken[static_cast<std::size_t>(t - tasks.data())].fetch_add(1); };
  std::atomic<bool> done{false};
  std::vector<std::thread> thieves;
  for (int i = 0; i < 3; ++i)
    thieves.emplace_back([&] {
      while (!done.load())
        for (task_header* t : to_vector(r.queue.steal(16))) take(t);
    });
  std::size_t exchanged = 0;
  for (std::size_t i = 0; i < count;) {
    if (r.queue.push(&tasks[i])) {
      ++i;
    } else {
      for (task_header* t : to_vector(r.queue.shed())) take(t);
    }
    if (i % 3 == 0)
      if (task_header* t = r.queue.pop()) take(t);
    if (i % 3 != 1 || i == count) continue;
    task_header* t = &tasks[i];
    if (!r.queue.exchange_oldest(t)) continue;
    ++i;
    if (t != nullptr) take(t);
    exchanged += t != nullptr;
  }
  while (task_header* t = r.queue.pop()) take(t);
  done.store(true);
  for (auto& t : thieves) t.join();
  while (task_header* t = r.queue.pop()) take(t);
  CHECK(std::all_of(taken.begin(), taken.end(), [](const auto& n) { return n.load() == 1; }));
  CHECK(exchanged > 0);
}
