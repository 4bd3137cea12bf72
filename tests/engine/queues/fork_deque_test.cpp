#include "queues/fork_deque.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <thread>
#include <vector>

using namespace corewise;
using detail::fork_deque;

namespace {

struct deque {
  explicit deque(std::uint64_t capacity) : queue(bottom, top, capacity) {}

  alignas(128) detail::atomic<std::uint64_t> bottom{0};
  alignas(128) detail::atomic<std::uint64_t> top{0};
  fork_deque queue;
};

} // namespace

TEST_CASE("fork deque: the owner pops the newest task, thieves take the oldest") {
  deque d(8);
  std::vector<task_header> tasks(4);
  for (task_header& t : tasks) CHECK(d.queue.push(&t));
  CHECK(d.queue.size() == 4);
  CHECK(d.queue.pop() == &tasks[3]);
  CHECK(d.queue.steal().task == &tasks[0]);
  CHECK(d.queue.steal().task == &tasks[1]);
  CHECK(d.queue.pop() == &tasks[2]);
  CHECK(d.queue.pop() == nullptr);
  CHECK(d.queue.steal().what == fork_deque::outcome::empty);
  CHECK(d.queue.size() == 0);
}

TEST_CASE("fork deque: the owner takes back the newest task only if it asks for that task") {
  deque d(8);
  std::vector<task_header> tasks(3);
  CHECK_FALSE(d.queue.take_back(&tasks[0])); // the deque is empty, and has no room yet
  CHECK(d.queue.capacity() == 0);
  for (task_header& t : tasks) CHECK(d.queue.push(&t));
  CHECK_FALSE(d.queue.take_back(&tasks[1]));
  CHECK(d.queue.take_back(&tasks[2]));
  CHECK_FALSE(d.queue.take_back(&tasks[2]));
  CHECK(d.queue.steal().task == &tasks[0]);
  CHECK(d.queue.take_back(&tasks[1])); // the last task
  CHECK_FALSE(d.queue.take_back(&tasks[1]));
  CHECK(d.queue.empty());
}

TEST_CASE("fork deque: a pop with a position takes nothing below that position") {
  deque d(8);
  std::vector<task_header> tasks(5);
  for (int i = 0; i < 2; ++i) CHECK(d.queue.push(&tasks[static_cast<std::size_t>(i)]));
  const std::uint64_t here = d.queue.next_position();
  CHECK(d.queue.pop_since(here) == nullptr);
  for (std::size_t i = 2; i < 5; ++i) CHECK(d.queue.push(&tasks[i]));
  CHECK(d.queue.steal_since(here).what == fork_deque::outcome::empty); // older tasks lie before it
  CHECK(d.queue.pop_since(here) == &tasks[4]);
  CHECK(d.queue.steal().task == &tasks[0]);
  CHECK(d.queue.steal().task == &tasks[1]);
  CHECK(d.queue.steal_since(here).task == &tasks[2]);
  CHECK(d.queue.pop_since(here) == &tasks[3]);
  CHECK(d.queue.pop_since(here) == nullptr);
  CHECK(d.queue.steal_since(here).what == fork_deque::outcome::empty);
}

TEST_CASE("fork deque: it grows when it is full, and only then") {
  deque d(2);
  std::vector<task_header> tasks(9);
  for (int round = 0; round < 5; ++round) {
    CHECK(d.queue.push(&tasks[0]));
    CHECK(d.queue.push(&tasks[1]));
    CHECK(d.queue.steal().task == &tasks[0]);
    CHECK(d.queue.pop() == &tasks[1]);
  }
  CHECK(d.queue.capacity() == 2);
  for (task_header& t : tasks) CHECK(d.queue.push(&t));
  CHECK(d.queue.capacity() == 16);
  for (task_header& t : tasks) CHECK(d.queue.steal().task == &t);
}

TEST_CASE("fork deque: owner and thieves never both take a task, and none is lost, while it grows from 2") {
  constexpr std::size_t count = 200'000;
  deque d(2);
  std::vector<task_header> tasks(count);
  std::vector<std::atomic<int>> taken(count);
  const auto take = [&](task_header* t) { taken[static_cast<std::size_t>(t - tasks.data())].fetch_add(1); };
  std::atomic<bool> done{false};
  std::atomic<std::size_t> stolen{0};
  std::vector<std::thread> thieves;
  for (int i = 0; i < 3; ++i)
    thieves.emplace_back([&] {
      while (!done.load()) {
        const auto [what, t] = d.queue.steal();
        if (what == fork_deque::outcome::task) {
          take(t);
          stolen.fetch_add(1);
        } else {
          std::this_thread::yield();
        }
      }
    });
  // Push and pop as forks do: a few down, a few up, and now and then all the way, so that the owner and the
  // thieves compete for the last task.
  for (std::size_t i = 0; i < count;) {
    for (std::size_t n = 0; n < 1 + i % 7 && i < count; ++n) CHECK(d.queue.push(&tasks[i++]));
    for (std::size_t n = 0; n < i % 8; ++n)
      if (task_header* t = d.queue.pop()) take(t);
  }
  while (task_header* t = d.queue.pop()) take(t);
  done.store(true);
  for (std::thread& t : thieves) t.join();
  CHECK(d.queue.size() == 0);
  CHECK(std::all_of(taken.begin(), taken.end(), [](const auto& n) { return n.load() == 1; }));
  MESSAGE(stolen.load() << " of " << count << " stolen, room for " << d.queue.capacity());
}

TEST_CASE("fork deque: the last task goes to either the owner or a thief") {
  constexpr int rounds = 20'000;
  deque d(2);
  task_header only;
  std::atomic<int> round{0};
  std::atomic<int> thefts{0};
  std::thread thief([&] {
    for (int seen = 0; seen < rounds;) {
      const int now = round.load();
      if (now == seen) {
        std::this_thread::yield();
        continue;
      }
      seen = now;
      if (d.queue.steal().what == fork_deque::outcome::task) thefts.fetch_add(1);
    }
  });
  int pops = 0;
  for (int i = 1; i <= rounds; ++i) {
    CHECK(d.queue.push(&only));
    round.store(i);
    if (d.queue.pop() != nullptr) ++pops;
    CHECK(pops + thefts.load() <= i);
  }
  thief.join();
  CHECK(pops + thefts.load() == rounds);
}
