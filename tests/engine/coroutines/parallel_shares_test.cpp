// The share of a parallel loop that each group gets.

#include "parallel_loops.hpp"
#include "runtime/loop_shares.hpp"
#include "small_engine.hpp"

#include <corewise/engine/parallel_for.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>
#include <random>

using namespace corewise;
using namespace corewise::tests;

TEST_CASE("parallel_for: shares are in proportion to weights, in order, and cover all elements") {
  using detail::deal_out;
  const auto ends = [](std::uint64_t size, std::vector<std::uint64_t> weights) {
    std::vector<std::uint64_t> all;
    for (const detail::loop_share& s : deal_out(size, weights)) all.push_back(s.end);
    return all;
  };
  CHECK(ends(300, {1024, 512}) == std::vector<std::uint64_t>{200, 300});
  CHECK(ends(0, {1, 1}) == std::vector<std::uint64_t>{0, 0});
  CHECK(ends(10, {0, 5, 0, 5}) == std::vector<std::uint64_t>{5, 10});
  CHECK(deal_out(10, std::vector<std::uint64_t>{0, 5, 0, 5})[1].group == group_id{3});
  CHECK(deal_out(10, std::vector<std::uint64_t>{0, 0}).empty());
  const std::uint64_t huge = ~std::uint64_t{0};
  CHECK(ends(huge, {1024, 1024, 1024, 1024}).back() == huge);
  std::mt19937_64 random(20);
  for (int round = 0; round < 1000; ++round) {
    std::vector<std::uint64_t> weights(1 + random() % 20);
    for (std::uint64_t& w : weights) w = 1 + random() % (16 * 1024);
    const auto all = static_cast<double>(std::accumulate(weights.begin(), weights.end(), std::uint64_t{0}));
    const std::uint64_t size = random() % 1'000'000;
    std::uint64_t begin = 0;
    for (const detail::loop_share& s : deal_out(size, weights)) {
      const double exact = static_cast<double>(size) * static_cast<double>(weights[s.group.value]) / all;
      CHECK(std::abs(static_cast<double>(s.end - begin) - exact) <= 1.0 + 1e-9);
      begin = s.end;
    }
    CHECK(begin == size);
  }
}

TEST_CASE("parallel_for: each group gets its share by capacity, and runs all of it if no worker steals") {
  profile p = hybrid_profile();
  p.steal.policy = "none";
  engine e(p);
  REQUIRE(e.groups().size() == 4);
  constexpr std::size_t size = 12'000;
  std::vector<std::uint32_t> done_by(size, ~0U);
  const auto loop = [&]() -> task<worker_id> {
    const worker_id caller = e.this_worker().value();
    co_await parallel_for(std::size_t{0}, size, [&](std::size_t i) {
      take_a_while();
      done_by[i] = e.this_worker().value().value;
    });
    co_return caller;
  };
  const worker_id caller = sync_wait(e, loop());
  // The caller does the elements before the first look, wherever it is.
  std::size_t first = 0;
  while (first < size && done_by[first] == caller.value) ++first;
  for (std::size_t i = first; i < size; ++i) {
    const std::size_t share = i / (size / 6); // P, P, E, P, P, E: as many sixths as it weighs
    const std::uint32_t group = share < 2 ? 0 : share < 3 ? 1 : share < 5 ? 2 : 3;
    CAPTURE(i);
    REQUIRE(e.workers()[worker_id{done_by[i]}].group.value == group);
  }
}
