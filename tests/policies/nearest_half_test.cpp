#include "made_machine.hpp"
#include "situation.hpp"
#include "steal_tour.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

using namespace corewise;
using namespace corewise::tests;

namespace {

using workers = std::vector<std::uint32_t>;

workers range(std::uint32_t first, std::uint32_t last) {
  workers all;
  for (std::uint32_t w = first; w <= last; ++w) all.push_back(w);
  return all;
}

/// The part of `all` from `first` on, of `count`, in ascending order.
workers part(const workers& all, std::size_t first, std::size_t count) {
  REQUIRE(all.size() >= first + count);
  workers sorted(all.begin() + static_cast<std::ptrdiff_t>(first),
                 all.begin() + static_cast<std::ptrdiff_t>(first + count));
  std::ranges::sort(sorted);
  return sorted;
}

workers without(workers all, std::uint32_t one) {
  std::erase(all, one);
  return all;
}

} // namespace

TEST_CASE("nearest half: a thief visits its own group, then outward, each worker once and never itself") {
  made_machine made; // two packages of two nodes of two caches of two cores
  for (std::uint32_t i = 0; i < 16; ++i) made.cores.push_back({std::to_string(i), i / 8, i / 4, i / 2});
  situation s(build(made));
  s.load(0, 15, 3);
  steal_tours tours(s, "nearest_half");
  for (int i = 0; i < 20; ++i) {
    const workers all = tours.victims(5);
    REQUIRE(all.size() == 15);
    CHECK(all[0] == 4);
    CHECK(part(all, 1, 2) == range(6, 7));
    CHECK(part(all, 3, 4) == range(0, 3));
    CHECK(part(all, 7, 8) == range(8, 15));
  }
}

TEST_CASE("nearest half: nearer packages come before farther ones") {
  made_machine made = one_kind(3, 2);
  made.distances = {{10, 30, 20}, {30, 10, 30}, {20, 30, 10}};
  situation s(build(made));
  s.load(0, 5, 3);
  steal_tours tours(s, "nearest_half");
  const workers all = tours.victims(0);
  CHECK(part(all, 0, 1) == workers{1});
  CHECK(part(all, 1, 2) == range(4, 5));
  CHECK(part(all, 3, 2) == range(2, 3));
}

TEST_CASE("nearest half: in a group the start is drawn at random, evenly") {
  situation s(build(one_kind(2, 5)));
  s.load(0, 9, 3);
  steal_tours tours(s, "nearest_half");
  std::array<int, 10> first{};
  std::array<int, 10> first_far{};
  constexpr int rounds = 10'000;
  for (int i = 0; i < rounds; ++i) {
    const workers all = tours.victims(7);
    ++first[all[0]];
    ++first_far[all[4]];
  }
  for (const std::uint32_t w : {5U, 6U, 8U, 9U}) CHECK(first[w] > rounds / 5 - 300);
  CHECK(first[8] > 2 * rounds / 5 - 400); // its own turn is its neighbour's
  for (std::uint32_t w = 0; w < 5; ++w) CHECK(std::abs(first_far[w] - rounds / 5) < 300);
}

TEST_CASE("nearest half: a fast thief visits the slow cores of its domain before the fast ones") {
  situation s(build(two_hybrid_sockets()));
  s.load(0, 31, 2);
  steal_tours tours(s, "nearest_half");
  for (const steal_effort effort : {steal_effort::usual, steal_effort::thorough}) {
    const workers all = tours.victims(3, effort);
    REQUIRE(all.size() == 31);
    CHECK(part(all, 0, 8) == range(8, 15));
    CHECK(part(all, 8, 7) == without(range(0, 7), 3));
    CHECK(part(all, 15, 16) == range(16, 31)); // distance comes before capacity there
    CHECK(part(all, 15, 8) == range(16, 23));
  }
  s.load(8, 15, 1);
  CHECK(part(tours.victims(3), 0, 7) == without(range(0, 7), 3));
}

TEST_CASE(
    "nearest half: a slow thief takes from slow cores, and from a fast core only if two tasks wait there") {
  situation s(build(two_hybrid_sockets()));
  s.load(0, 31, 2); // one runs, one waits
  s.boards().set_load({5}, 3);
  steal_tours tours(s, "nearest_half");
  const workers all = tours.victims(10, steal_effort::usual);
  CHECK(part(all, 0, 7) == without(range(8, 15), 10));
  CHECK(all[7] == 5);
  CHECK(part(all, 8, 16) == range(16, 31)); // two waiting here; there the caller refuses
  CHECK(all.size() == 24);
}

TEST_CASE(
    "nearest half: a task that waits alone on a fast core is found in a thorough round, or when it blocks") {
  situation s(build(two_hybrid_sockets()));
  s.boards().set_load({5}, 2);
  steal_tours tours(s, "nearest_half");
  CHECK(tours.victims(10, steal_effort::usual).empty());
  CHECK(tours.victims(10, steal_effort::thorough) == workers{5});
  CHECK(tours.victims(0, steal_effort::usual) == workers{5});
  CHECK(tours.victims(31, steal_effort::usual) == workers{5});
  s.boards().set_unavailable({5});
  CHECK(tours.victims(10, steal_effort::usual) == workers{5});
}

TEST_CASE(
    "nearest half: with three kinds the slower ones come first, then the thief's own, then the faster ones") {
  made_machine made;
  made.capacities = {256, 512, 1024};
  for (std::uint32_t i = 0; i < 6; ++i) made.cores.push_back({std::to_string(i), 0U, 0U, 0U, i % 3});
  situation s(build(made));
  s.load(0, 5, 4);
  steal_tours tours(s, "nearest_half");
  // Workers of the fastest group are 0 and 1, of the next 2 and 3, of the slowest 4 and 5.
  for (const std::uint32_t thief : {0U, 2U, 4U}) {
    const workers all = tours.victims(thief);
    workers by_capacity = range(4, 5);
    by_capacity.insert(by_capacity.end(), {2, 3, 0, 1});
    std::vector<std::uint32_t> groups;
    for (const std::uint32_t w : all) groups.push_back(w / 2);
    std::vector<std::uint32_t> expected;
    for (const std::uint32_t w : without(by_capacity, thief)) expected.push_back(w / 2);
    CHECK(groups == expected);
  }
}

TEST_CASE("nearest half: among groups of one kind the thief's own comes first") {
  situation s(build(one_kind(1, 6)), {}, {}, {domain_kind::llc, 2});
  REQUIRE(s.groups().size() == 3);
  s.load(0, 5, 2);
  steal_tours tours(s, "nearest_half");
  CHECK(part(tours.victims(2), 0, 1) == workers{3});
  CHECK(part(tours.victims(2), 1, 2) == range(4, 5)); // the next in number
  CHECK(part(tours.victims(4), 0, 1) == workers{5});
}

TEST_CASE("nearest half: injection queues of the domain come before their group's workers, far ones after") {
  situation s(build(two_hybrid_sockets()));
  s.load(0, 31, 3);
  steal_tours tours(s, "nearest_half");
  std::vector<std::pair<std::uint32_t, bool>> groups; // and whether it is the injection queue
  for (const steal_stop& stop : tours.all(0)) {
    const std::pair here{stop.group.value, !stop.victim};
    CHECK(stop.level == s.groups().level_between({0}, stop.group));
    if (groups.empty() || groups.back() != here) groups.push_back(here);
  }
  CHECK(groups == std::vector<std::pair<std::uint32_t, bool>>{
                      {1, true}, {1, false}, {0, false}, {2, false}, {2, true}, {3, false}, {3, true}});
}

TEST_CASE("nearest half: workers without tasks are skipped, a task in a LIFO slot counts, and blocked "
          "workers are victims") {
  situation s(build(one_kind(1, 6)));
  s.boards().set_load({1}, 1); // runs, and nothing waits
  s.boards().set_load({2}, worker_load{0, 1, 1});
  s.boards().set_load({3}, 2);
  s.boards().set_unavailable({3});
  s.boards().set_waiting_asleep({4}, 1);
  steal_tours tours(s, "nearest_half");
  CHECK(part(tours.victims(0, steal_effort::usual), 0, 3) == range(2, 4));
  CHECK(tours.victims(0).size() == 3);
  CHECK(part(tours.victims(3), 0, 2) == workers{2, 4});
}

TEST_CASE("nearest half: the tour ends at the first stop that yields a task") {
  situation s(build(one_kind(2, 3)));
  s.load(0, 5, 4);
  steal_tours tours(s, "nearest_half");
  const auto stops = tours.until(0, steal_effort::usual, [](const steal_stop& stop) {
    return stop.victim && stop.level == level::cross_package;
  });
  CHECK(stops.size() == 3);
  CHECK(tours.taken());
  (void)tours.all(0);
  CHECK_FALSE(tours.taken());
}

TEST_CASE("nearest half: with a random start, distance and capacity do not matter") {
  situation s(build(two_hybrid_sockets()));
  s.load(0, 31, 2);
  steal_tours tours(s, "nearest_half", steal_start::random);
  std::array<int, 32> first{};
  for (int i = 0; i < 32'000; ++i) ++first[tours.victims(10, steal_effort::usual).front()];
  for (std::uint32_t w = 0; w < 32; ++w)
    CHECK(std::abs(first[w] - (w == 10 ? 0 : w == 11 ? 2000 : 1000)) < 200);
}
