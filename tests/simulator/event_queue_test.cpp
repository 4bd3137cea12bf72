#include "event_queue.hpp"

#include <corewise/simulator/random_stream.hpp>

#include <doctest/doctest.h>

#include <map>

using namespace corewise;

TEST_CASE(
    "event queue: the earliest event comes first, and events of one time come in the order of insertion") {
  random_stream random(3, 0);
  detail::event_queue<int> queue;
  std::multimap<std::int64_t, int> plain; // keeps the order of equal keys
  std::int64_t now = 0;
  for (int i = 0; i < 200'000; ++i) {
    if (plain.empty() || random.below(5) < 3) {
      const std::int64_t at = now + random.below(50);
      queue.push(at, i);
      plain.emplace(at, i);
      continue;
    }
    REQUIRE(queue.size() == plain.size());
    REQUIRE(queue.top().time_ns == plain.begin()->first);
    const auto popped = queue.pop();
    REQUIRE(popped.event == plain.begin()->second);
    now = popped.time_ns;
    plain.erase(plain.begin());
  }
}
