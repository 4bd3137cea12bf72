#include "made_machine.hpp"
#include "situation.hpp"
#include "steal_tour.hpp"

#include <corewise/policies/activity.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <tuple>
#include <vector>

using namespace corewise;
using namespace corewise::tests;

using workers = std::vector<std::uint32_t>;

TEST_CASE("hottest half: the most active worker comes first, at any distance") {
  situation s(build(one_kind(2, 3)));
  s.load(0, 5, 2);
  for (const auto& [w, touches] : {std::pair{0U, 3U}, {1U, 9U}, {2U, 0U}, {3U, 5U}, {4U, 12U}, {5U, 4U}})
    s.boards().set_activity({w}, {touches, 1});
  steal_tours tours(s, "hottest_half");
  CHECK(tours.victims(2) == workers{4, 1, 3, 5, 0});
  CHECK(tours.victims(4) == workers{1, 3, 5, 0, 2});
}

TEST_CASE(
    "hottest half: among equally active workers the one touched last comes first, then the highest index") {
  situation s(build(one_kind(1, 5)));
  s.load(0, 4, 2);
  for (std::uint32_t w = 0; w < 5; ++w) s.boards().set_activity({w}, {6, 10});
  steal_tours tours(s, "hottest_half");
  CHECK(tours.victims(4) == workers{3, 2, 1, 0});
  s.boards().set_activity({1}, {6, 11});
  CHECK(tours.victims(4) == workers{1, 3, 2, 0});
}

TEST_CASE("hottest half: its order is the reverse of the order in which activity places") {
  situation s(build(one_kind(3, 4)), "activity");
  for (std::uint32_t w = 0; w < 12; ++w) {
    s.boards().set_load({w}, 2);
    s.boards().set_activity({w}, {w * 7 % 4, w * 5 % 3});
  }
  workers placed; // one after another, each taken out
  for (std::uint32_t i = 0; i < 12; ++i) {
    placed.push_back(s.place(s.on_cpu(0)).worker.value);
    s.boards().set_unavailable({placed.back()});
  }
  std::ranges::reverse(placed);
  steal_tours tours(s, "hottest_half");
  const std::uint32_t thief = placed[5];
  std::erase(placed, thief);
  CHECK(tours.victims(thief) == placed);
}

TEST_CASE("hottest half: a worker that was robbed is not the next victim") {
  situation s(build(one_kind(1, 3)));
  s.load(0, 2, 5);
  s.boards().set_activity({0}, {7, 1});
  s.boards().set_activity({1}, {8, 1});
  steal_tours tours(s, "hottest_half");
  CHECK(tours.victims(2) == workers{1, 0});
  cool(s.view().board({0}).entries[1]);
  CHECK(tours.victims(2) == workers{0, 1});
}

TEST_CASE("hottest half: many victims that refuse are visited once each, in order") {
  for (const std::uint32_t count : {16U, 17U, 33U, 100U}) {
    CAPTURE(count);
    situation s(build(one_kind(2, count / 2 + 1)));
    const auto last = static_cast<std::uint32_t>(s.workers().size()) - 1;
    for (std::uint32_t w = 0; w <= last; ++w) s.boards().set_activity({w}, {w * 31 % 7, w % 3});
    s.load(0, count, 2); // the thief and `count` others
    steal_tours tours(s, "hottest_half");
    workers all = tours.victims(0);
    const auto colder = [&](std::uint32_t a, std::uint32_t b) {
      return std::tuple(a * 31 % 7, a % 3, a) > std::tuple(b * 31 % 7, b % 3, b);
    };
    CHECK(std::ranges::is_sorted(all, colder));
    std::ranges::sort(all);
    CHECK(all.size() == std::min(count, last));
    CHECK(std::ranges::adjacent_find(all) == all.end());
  }
}

TEST_CASE("hottest half: workers without tasks are skipped, blocked ones are victims, and injection queues "
          "come last") {
  situation s(build(one_kind(2, 2)));
  for (std::uint32_t w = 0; w < 4; ++w) s.boards().set_activity({w}, {w + 1, 1});
  s.boards().set_load({3}, 1);
  s.boards().set_load({1}, 2);
  s.boards().set_load({2}, 2);
  s.boards().set_unavailable({2});
  steal_tours tours(s, "hottest_half");
  const auto all = tours.all(0);
  REQUIRE(all.size() == 3);
  CHECK(all[0].victim == worker_id{2});
  CHECK(all[1].victim == worker_id{1});
  CHECK_FALSE(all[2].victim);
  CHECK(all[2].group == group_id{1});
}
