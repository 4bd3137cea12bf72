#include "small_engine.hpp"
#include "within.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>
#include <vector>

using namespace corewise;
using namespace std::chrono_literals;

namespace {

constexpr int links = 400;
constexpr int in_ring = 60;

void add_link(engine& e, std::vector<bool>& order, int left) {
  order.push_back(true);
  if (left > 0 && e.submit([&e, &order, left] { add_link(e, order, left - 1); }) != submit_result::accepted)
    std::abort();
}

/// One worker has 60 tasks in its ring and a chain in its slot. Returns for each task that ran whether it was
/// a link of the chain.
std::vector<bool> order_of(const profile& p) {
  std::vector<bool> order; // only one worker writes it
  engine e(p);
  const auto first = [&] {
    for (int i = 0; i < in_ring; ++i)
      if (e.submit([&] { order.push_back(false); }) != submit_result::accepted) std::abort();
    if (e.submit([&] { add_link(e, order, links); }) != submit_result::accepted) std::abort();
  };
  REQUIRE(e.submit(first) == submit_result::accepted);
  e.drain();
  return order;
}

} // namespace

TEST_CASE(
    "LIFO slot: a chain in the slot overtakes waiting tasks three times in a row, then a waiting task runs") {
  const std::vector<bool> order = order_of(small_profile(1));
  REQUIRE(order.size() == in_ring + links + 1);
  for (std::size_t i = 0; i < in_ring * 4; ++i) {
    CAPTURE(i);
    CHECK(order[i] == (i % 4 != 3));
  }
  CHECK(std::count(order.begin() + in_ring * 4, order.end(), false) == 0);
}

TEST_CASE("LIFO slot: with a cap of 0 there is no slot, and waiting tasks run first") {
  profile p = small_profile(1);
  p.queues.lifo_cap = 0;
  const std::vector<bool> order = order_of(p);
  CHECK(std::none_of(order.begin(), order.begin() + in_ring, [](bool link) { return link; }));
}

TEST_CASE("LIFO slot: a task in that of a long task is taken by others, also where no worker sleeps") {
  std::atomic<bool> over{false};
  std::function<void()> other;
  engine e(small_profile(2));
  other = [&] {
    std::this_thread::sleep_for(1ms);
    if (!over) REQUIRE(e.submit([&] { other(); }) == submit_result::accepted);
  };
  for (int i = 0; i < 8; ++i) REQUIRE(e.submit([&] { other(); }) == submit_result::accepted);
  std::atomic<bool> began{false};
  const bool in_time = e.run([&] {
                          REQUIRE(e.submit([&] { began = true; }) == submit_result::accepted);
                          return within(20s, [&] { return began.load(); });
                        }).get();
  over = true;
  CHECK(in_time);
}
