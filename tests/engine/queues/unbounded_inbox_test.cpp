#include "queues/ingress.hpp"

#include <doctest/doctest.h>

#include <thread>
#include <vector>

using namespace corewise;
using detail::unbounded_inbox;

TEST_CASE("unbounded inbox: it is first in, first out, also when it is emptied and filled again") {
  board_entry entry;
  unbounded_inbox in(entry);
  std::vector<task_header> tasks(7);
  CHECK_FALSE(in.ready());
  CHECK(in.pop() == nullptr);
  for (int round = 0; round < 5; ++round)
    for (std::size_t n = 1; n <= tasks.size(); ++n) {
      for (std::size_t i = 0; i < n; ++i) in.push(&tasks[i]);
      for (std::size_t i = 0; i < n; ++i) {
        CHECK(in.ready());
        CHECK(in.pop() == &tasks[i]);
      }
      CHECK_FALSE(in.ready());
      CHECK(in.pop() == nullptr);
    }
}

TEST_CASE("unbounded inbox: a producer may fill it while its worker empties it") {
  board_entry entry;
  unbounded_inbox in(entry);
  std::vector<task_header> tasks(100);
  std::size_t out = 0;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    in.push(&tasks[i]);
    if (i % 3 != 0) CHECK(in.pop() == &tasks[out++]);
  }
  while (task_header* t = in.pop()) CHECK(t == &tasks[out++]);
  CHECK(out == tasks.size());
}

TEST_CASE("unbounded inbox: it takes any number, and the board counts them") {
  board_entry entry;
  detail::ingress in(entry, {});
  CHECK_FALSE(in.bounded());
  std::vector<task_header> tasks(100'000);
  for (task_header& t : tasks) CHECK(in.push(&t));
  CHECK(in.size() == tasks.size());
  CHECK(entry.producers.inbox_in.load() - entry.owner.inbox_out.load() == tasks.size());
  for (std::size_t i = 0; i < 60'000; ++i) REQUIRE(in.pop() == &tasks[i]);
  CHECK(in.size() == 40'000);
  CHECK(in.put() == 100'000);
  CHECK(in.taken() == 60'000);
}

TEST_CASE("unbounded inbox: with a size, the ingress is bounded") {
  board_entry entry;
  std::vector<detail::inbox::cell> cells(2);
  detail::ingress in(entry, cells);
  CHECK(in.bounded());
  std::vector<task_header> tasks(3);
  CHECK(in.push(&tasks[0]));
  CHECK(in.push(&tasks[1]));
  CHECK_FALSE(in.push(&tasks[2]));
  CHECK(in.size() == 2);
  CHECK(in.ready());
  CHECK(in.pop() == &tasks[0]);
}

TEST_CASE("unbounded inbox: many producers pass every task exactly once, each one's in order") {
  constexpr std::size_t each = 200'000;
  constexpr std::size_t producers = 4;
  board_entry entry;
  unbounded_inbox in(entry);
  std::vector<task_header> tasks(each * producers);
  std::vector<std::thread> threads;
  for (std::size_t p = 0; p < producers; ++p)
    threads.emplace_back([&, p] {
      for (std::size_t i = 0; i < each; ++i) in.push(&tasks[p * each + i]);
    });
  std::vector<std::size_t> next(producers);
  bool in_order = true;
  for (std::size_t taken = 0; taken < tasks.size();) {
    task_header* t = in.pop();
    if (t == nullptr) {
      std::this_thread::yield();
      continue;
    }
    ++taken;
    const auto n = static_cast<std::size_t>(t - tasks.data());
    in_order = in_order && n % each == next[n / each]++;
  }
  for (std::thread& t : threads) t.join();
  CHECK(in_order);
  CHECK(in.pop() == nullptr);
  CHECK(entry.producers.inbox_in.load() == entry.owner.inbox_out.load());
}
