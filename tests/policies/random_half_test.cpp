#include "made_machine.hpp"
#include "situation.hpp"
#include "steal_tour.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdlib>
#include <set>
#include <vector>

using namespace corewise;
using namespace corewise::tests;

TEST_CASE("random half: a thief visits all workers by number, from a random one on") {
  situation s(build(one_kind(2, 5)));
  s.load(0, 9, 2);
  steal_tours tours(s, "random_half");
  std::array<int, 10> first{};
  constexpr int rounds = 10'000;
  for (int i = 0; i < rounds; ++i) {
    const std::vector<std::uint32_t> all = tours.victims(7);
    REQUIRE(all.size() == 9);
    for (std::size_t k = 1; k < all.size(); ++k) {
      const std::uint32_t next = (all[k - 1] + 1) % 10;
      REQUIRE(all[k] == (next == 7 ? 8 : next));
    }
    ++first[all[0]];
  }
  for (std::uint32_t w = 0; w < 10; ++w)
    CHECK(std::abs(first[w] - (w == 7 ? 0 : w == 8 ? rounds / 5 : rounds / 10)) < 150);
}

TEST_CASE("random half: it ignores capacities") {
  situation s(build(two_hybrid_sockets()));
  s.boards().set_load({5}, 2);
  steal_tours tours(s, "random_half");
  CHECK(tours.victims(10, steal_effort::usual) == std::vector<std::uint32_t>{5});
}

TEST_CASE("random half: workers without tasks are skipped, and blocked workers are victims") {
  situation s(build(one_kind(2, 2)));
  s.boards().set_load({0}, 1);
  s.boards().set_load({1}, worker_load{0, 1, 0});
  s.boards().set_load({2}, 5);
  s.boards().set_unavailable({2});
  steal_tours tours(s, "random_half");
  const std::vector<std::uint32_t> all = tours.victims(3);
  CHECK(std::set(all.begin(), all.end()) == std::set<std::uint32_t>{1, 2});
}

TEST_CASE("random half: the injection queues of other groups come last, nearest first") {
  situation s(build(one_kind(3, 2)));
  s.load(0, 5, 2);
  steal_tours tours(s, "random_half");
  const std::vector<steal_stop> all = tours.all(2);
  REQUIRE(all.size() == 7);
  for (std::size_t i = 0; i < 5; ++i) CHECK(all[i].victim.has_value());
  CHECK_FALSE(all[5].victim);
  CHECK(all[5].group == group_id{2});
  CHECK(all[5].level == level::cross_package);
  CHECK_FALSE(all[6].victim);
  CHECK(all[6].group == group_id{0});
}

TEST_CASE("no stealing: the tour has no stop") {
  situation s(build(one_kind(2, 4)));
  s.load(0, 7, 50);
  steal_tours tours(s, "none");
  CHECK(tours.all(0).empty());
  CHECK_FALSE(tours.taken());
}
