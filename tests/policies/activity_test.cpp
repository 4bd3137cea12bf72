#include "made_machine.hpp"
#include "situation.hpp"

#include <corewise/policies/activity.hpp>

#include <doctest/doctest.h>

using namespace corewise;
using namespace corewise::tests;

namespace {

board_entry& entry_of(const situation& s, std::uint32_t worker) {
  const group_id g = s.workers()[{worker}].group;
  return s.view().board(g).entries[worker - s.workers().of_group(g).front().id.value];
}

} // namespace

TEST_CASE("activity: touches add up, and cooling halves the rest") {
  situation s(build(one_kind(1, 2)));
  board_entry& entry = entry_of(s, 1);
  const auto left = [&] { return s.view().activity({0}, 1).touches; };
  CHECK(left() == 0);
  for (std::uint64_t stamp = 10; stamp < 15; ++stamp) touch(entry, stamp);
  CHECK(left() == 5);
  CHECK(s.view().activity({0}, 1).touched_at == 14);
  cool(entry);
  CHECK(left() == 2);
  cool(entry);
  CHECK(left() == 1);
  touch(entry, 20);
  CHECK(left() == 2);
  cool(entry);
  cool(entry);
  CHECK(left() == 0);
  cool(entry);
  CHECK(left() == 0);
  touch(entry, 21);
  CHECK(left() == 1);
  CHECK(s.view().activity({0}, 0).touches == 0);
}

TEST_CASE("activity: it never falls below 0") {
  situation s(build(one_kind(1, 1)));
  board_entry& entry = entry_of(s, 0);
  entry.shared.cooled.store(
      3, std::memory_order_relaxed); // as a thief may see it that reads the owner's line late
  CHECK(s.view().activity({0}, 0).touches == 0);
  cool(entry);
  CHECK(entry.shared.cooled.load(std::memory_order_relaxed) == 3);
}

TEST_CASE("activity: the least active worker is chosen, at any load") {
  situation s(build(two_hybrid_sockets()), "activity");
  for (std::uint32_t w = 0; w < 32; ++w) s.boards().set_activity({w}, {10, w});
  s.boards().set_activity({20}, {9, 1000});
  s.boards().set_load({20}, 50);
  CHECK(s.place(s.on_cpu(0)).worker.value == 20);
  CHECK(s.place(s.on_worker(3)).worker.value == 20);
  const placement p = s.place(s.on_cpu(0));
  CHECK(p.level == level::cross_package);
  CHECK(p.score == 9);
  CHECK(p.cost == 9);
  CHECK(p.reason == placement_reason::least_active);
}

TEST_CASE(
    "activity: among equally active workers the one touched longest ago is chosen, then the lowest index") {
  situation s(build(one_kind(2, 3)), "activity");
  for (std::uint32_t w = 0; w < 6; ++w) s.boards().set_activity({w}, {4, 100 - w});
  CHECK(s.place(s.on_cpu(0)).worker.value == 5);
  for (std::uint32_t w = 0; w < 6; ++w) s.boards().set_activity({w}, {4, 7});
  CHECK(s.place(s.on_cpu(5)).worker.value == 0);
  s.boards().set_activity({4}, {3, 99});
  CHECK(s.place(s.on_cpu(0)).worker.value == 4);
  s.boards().set_activity({2}, {0, 5});
  s.boards().set_activity({3}, {0, 0}); // never
  CHECK(s.place(s.on_cpu(0)).worker.value == 3);
}

TEST_CASE("activity: a robbed worker comes earlier") {
  situation s(build(one_kind(1, 2)), "activity");
  s.boards().set_activity({0}, {5, 1});
  s.boards().set_activity({1}, {8, 2});
  CHECK(s.place(s.on_cpu(0)).worker.value == 0);
  cool(entry_of(s, 1));
  CHECK(s.place(s.on_cpu(0)).worker.value == 1);
}

TEST_CASE("activity: workers in blocking calls are left out, and hints are honoured") {
  situation s(build(one_kind(2, 2)), "activity");
  for (std::uint32_t w = 0; w < 4; ++w) s.boards().set_activity({w}, {w + 1, w});
  s.boards().set_unavailable({0});
  CHECK(s.place(s.on_cpu(0)).worker.value == 1);
  placement_hint hint;
  hint.node = 1;
  CHECK(s.place(s.on_cpu(0), hint).worker.value == 2);
  CHECK(s.place(s.on_cpu(0), hint).reason == placement_reason::hinted);
  s.boards().set_unavailable({2});
  CHECK(s.place(s.on_cpu(0), hint).worker.value == 3);
  s.boards().set_unavailable({3});
  CHECK(s.place(s.on_cpu(0), hint).worker.value == 1);
  s.boards().set_unavailable({1});
  CHECK(s.place(s.on_cpu(0), hint).worker.value == 2);
}

TEST_CASE("activity: each group's least active worker is considered") {
  situation s(build(one_kind(2, 2)), "activity");
  for (std::uint32_t w = 0; w < 4; ++w) s.boards().set_activity({w}, {7 - w, w});
  const auto all = s.rule().consider(s.view(), s.on_cpu(0), {}, placement_rng(1), {});
  REQUIRE(all.size() == 2);
  CHECK(all[0].lightest.value == 1);
  CHECK(all[0].score == 6);
  CHECK(all[1].lightest.value == 3);
  CHECK(all[1].score == 4);
}

TEST_CASE("activity: a worker that no thief robs stays active, however many tasks it has run") {
  situation s(build(one_kind(1, 1)));
  board_entry& entry = entry_of(s, 0);
  for (const std::uint64_t touches :
       {std::uint64_t{1} << 31, std::uint64_t{1} << 32, std::uint64_t{1} << 63}) {
    entry.shared.cooled.store(0, std::memory_order_relaxed);
    entry.owner.touches.store(touches - 1, std::memory_order_relaxed);
    touch(entry, 1);
    CHECK(s.view().activity({0}, 0).touches == touches);
    cool(entry);
    CHECK(s.view().activity({0}, 0).touches == touches / 2);
  }
}
