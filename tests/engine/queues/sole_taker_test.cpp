#include "base/fence.hpp"
#include "queues/lifo_slot.hpp"
#include "queues/local_queue.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <thread>
#include <vector>

using namespace corewise;
using detail::lifo_slot;
using detail::local_queue;
using detail::sole_taker;

TEST_CASE("sole taker: the worker is the only taker until another thread comes") {
  sole_taker takers(true);
  if (!takers.alone()) {
    MESSAGE("skipped: the kernel has no such barrier");
    return;
  }
  for (int i = 0; i < 3; ++i) {
    REQUIRE(takers.begin_alone());
    takers.end_alone();
  }
  CHECK_FALSE(takers.shared());
  CHECK(takers.share());
  CHECK(takers.shared());
  CHECK_FALSE(takers.alone());
  CHECK_FALSE(takers.begin_alone());
  CHECK(takers.share());
}

TEST_CASE("sole taker: with other workers there is no sole taker") {
  sole_taker takers(false);
  CHECK_FALSE(takers.alone());
  CHECK_FALSE(takers.begin_alone());
  CHECK(takers.share());
}

TEST_CASE("sole taker: a thread that comes waits until the worker has taken its task") {
  sole_taker takers(true);
  if (!takers.begin_alone()) {
    MESSAGE("skipped: the kernel has no such barrier");
    return;
  }
  std::atomic<bool> come{false};
  std::thread other([&] {
    CHECK(takers.share());
    come.store(true);
  });
  while (takers.alone()) std::this_thread::yield(); // the other thread has asked
  std::this_thread::sleep_for(std::chrono::milliseconds{10});
  CHECK_FALSE(come.load());
  takers.end_alone();
  other.join();
  CHECK(come.load());
}

TEST_CASE("sole taker: the thread that comes, and later ones, see everything that the worker did alone") {
  for (int round = 0; round < 200; ++round) {
    sole_taker takers(true);
    if (!takers.alone()) {
      MESSAGE("skipped: the kernel has no such barrier");
      return;
    }
    int done = 0; // not atomic: ThreadSanitizer sees whether it was published
    std::atomic<int> seen{0};
    std::thread worker([&] {
      for (; takers.begin_alone(); takers.end_alone()) seen.store(++done, std::memory_order_relaxed);
    });
    std::thread later([&] {
      while (!takers.shared()) std::this_thread::yield();
      CHECK(done == seen.load(std::memory_order_relaxed));
    });
    while (seen.load(std::memory_order_relaxed) <= round) std::this_thread::yield();
    CHECK(takers.share());
    CHECK(done == seen.load(std::memory_order_relaxed));
    worker.join();
    later.join();
  }
}

namespace {

constexpr std::size_t tasks_in_all = 10'000;

/// A worker uses its ring and its slot alone until it has put `comes_at` tasks; then another thread begins to
/// take from both.
void take_until_another_comes(std::size_t comes_at) {
  board_entry entry;
  std::vector<local_queue::cell> cells(32);
  sole_taker takers(true);
  local_queue ring(entry, cells, takers);
  lifo_slot next(entry, takers);
  std::vector<task_header> tasks(tasks_in_all);
  std::vector<std::atomic<int>> taken(tasks_in_all);
  const auto take = [&](const task_header* t) {
    if (t != nullptr) taken[static_cast<std::size_t>(t - tasks.data())].fetch_add(1);
  };
  std::atomic<std::size_t> put{0};
  std::atomic<bool> here{false};
  std::thread other([&] {
    here.store(true);
    while (put.load(std::memory_order_relaxed) < comes_at) detail::pause_core();
    CHECK(takers.share());
    while (put.load(std::memory_order_relaxed) != tasks_in_all) {
      take(next.take());
      take(ring.steal(1).first);
    }
  });
  while (!here.load()) std::this_thread::yield();
  for (std::size_t i = 0; i < tasks_in_all; ++i, put.store(i, std::memory_order_relaxed)) {
    task_header* t = &tasks[i];
    switch (i % 4) {
    case 0: take(next.put(t)); break;
    case 1: take(next.take_own()); [[fallthrough]];
    case 2:
      if (!ring.push(t)) take(t);
      break;
    default:
      if (!ring.exchange_oldest(t) || t != nullptr) take(t);
    }
    if (i % 3 == 0) take(ring.pop());
  }
  other.join();
  take(next.take());
  while (const task_header* t = ring.pop()) take(t);
  CHECK(std::all_of(taken.begin(), taken.end(), [](const auto& n) { return n.load() == 1; }));
}

} // namespace

TEST_CASE("sole taker: the worker and a thread that comes never both take a task, and none is lost") {
  constexpr std::size_t rounds = 200;
  for (std::size_t round = 0; round < rounds; ++round)
    take_until_another_comes(round * tasks_in_all / rounds);
}
