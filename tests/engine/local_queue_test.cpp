#include "local_queue.hpp"

#include <doctest/doctest.h>

#include <thread>
#include <vector>

using namespace corewise;
using detail::local_queue;
using detail::task_chain;

namespace {

/// A ring with its slot and cells, and tasks with numbers.
struct ring {
  explicit ring(std::size_t capacity) : cells(capacity), queue(slot, cells) {}

  load_slot slot;
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

TEST_CASE("local queue: when full a push is refused, and shedding takes the older half out") {
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
  for (std::size_t i = 0; i < count;) {
    if (r.queue.push(&tasks[i])) {
      ++i;
    } else {
      for (task_header* t : to_vector(r.queue.shed())) take(t);
    }
    if (i % 3 == 0)
      if (task_header* t = r.queue.pop()) take(t);
  }
  while (task_header* t = r.queue.pop()) take(t);
  done.store(true);
  for (auto& t : thieves) t.join();
  while (task_header* t = r.queue.pop()) take(t);
  CHECK(std::all_of(taken.begin(), taken.end(), [](const auto& n) { return n.load() == 1; }));
}
