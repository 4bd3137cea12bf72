#include "queues/class_queue.hpp"

#include <doctest/doctest.h>

#include <barrier>
#include <thread>
#include <vector>

using namespace corewise;
using namespace corewise::detail;

namespace {

/// A queue with its memory, and tasks to put into it.
struct queue_of_tasks {
  explicit queue_of_tasks(std::size_t count) : tasks(count) {}

  task_header* at(std::size_t i) { return &tasks[i]; }
  std::size_t number_of(const task_header* t) const { return static_cast<std::size_t>(t - tasks.data()); }

  std::vector<inbox::cell> cells = std::vector<inbox::cell>(class_queue::ring_size);
  class_queue queue{cells};
  std::vector<task_header> tasks;
};

} // namespace

TEST_CASE("class_queue: first in, first out, far beyond its ring, and newer tasks do not overtake") {
  constexpr std::size_t first = 3 * class_queue::ring_size;
  constexpr std::size_t all = 5 * class_queue::ring_size;
  queue_of_tasks q(all);
  CHECK_FALSE(q.queue.waiting());
  for (std::size_t i = 0; i < first; ++i) q.queue.push(q.at(i));
  CHECK(q.queue.depth() == first);
  CHECK(q.queue.waiting());
  CHECK(q.queue.ready());
  // There is room in the ring again, while the list still has older tasks.
  std::size_t next = 0;
  for (; next < 10; ++next) CHECK(q.queue.pop() == q.at(next));
  for (std::size_t i = first; i < all; ++i) q.queue.push(q.at(i));
  for (; next < all; ++next) CHECK(q.queue.pop() == q.at(next));
  CHECK(q.queue.depth() == 0);
  CHECK(q.queue.placed() == all);
}

TEST_CASE("class_queue: its word is true while a task waits, and false after a pop that found nothing") {
  queue_of_tasks q(2);
  q.queue.push(q.at(0));
  q.queue.push(q.at(1));
  CHECK(q.queue.pop() == q.at(0));
  CHECK(q.queue.waiting());
  CHECK(q.queue.pop() == q.at(1));
  CHECK(q.queue.pop() == nullptr);
  CHECK_FALSE(q.queue.waiting());
  CHECK_FALSE(q.queue.ready());
  q.queue.push(q.at(0));
  CHECK(q.queue.waiting());
}

TEST_CASE(
    "class_queue: between many producers and consumers that trust the word no task is lost or taken twice") {
  constexpr std::size_t producers = 3;
  constexpr std::size_t each = 20'000;
  queue_of_tasks q(producers * each);
  std::vector<std::atomic<int>> taken(producers * each);
  std::atomic<std::size_t> left{producers * each};
  std::vector<std::thread> threads;
  for (std::size_t p = 0; p < producers; ++p)
    threads.emplace_back([&, p] {
      for (std::size_t i = 0; i < each; ++i) q.queue.push(q.at(p * each + i));
    });
  for (int c = 0; c < 3; ++c)
    threads.emplace_back([&] {
      while (left.load() != 0) {
        task_header* t = q.queue.waiting() ? q.queue.pop() : nullptr;
        if (t == nullptr) {
          std::this_thread::yield();
          continue;
        }
        taken[q.number_of(t)].fetch_add(1);
        left.fetch_sub(1);
      }
    });
  for (std::thread& t : threads) t.join();
  for (const auto& times : taken) REQUIRE(times.load() == 1);
  CHECK(q.queue.depth() == 0);
}

TEST_CASE("class_queue: the word is true after a push that met a pop that found nothing") {
  constexpr std::size_t rounds = 5000;
  queue_of_tasks q(rounds);
  std::barrier<> both(2);
  std::thread producer([&] {
    for (std::size_t i = 0; i < rounds; ++i) {
      both.arrive_and_wait();
      q.queue.push(q.at(i));
      both.arrive_and_wait();
    }
  });
  std::size_t wrong = 0;
  std::size_t lost = 0;
  for (std::size_t i = 0; i < rounds; ++i) {
    both.arrive_and_wait();
    const task_header* t = q.queue.pop();
    both.arrive_and_wait();
    if (t != nullptr) continue;
    if (!q.queue.waiting()) ++wrong;
    if (q.queue.pop() != q.at(i)) ++lost;
  }
  producer.join();
  CHECK(wrong == 0);
  CHECK(lost == 0);
}
