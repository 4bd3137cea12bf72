#include "injection_queue.hpp"

#include <doctest/doctest.h>

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
      std::vector<std::size_t> next(producers); // of each producer's, the least that may come
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
