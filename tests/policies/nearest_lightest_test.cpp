#include "made_machine.hpp"
#include "situation.hpp"

#include <doctest/doctest.h>

using namespace corewise;
using namespace corewise::tests;

namespace {

/// Two packages of two nodes of two cores each: workers 0-1, 2-3 | 4-5, 6-7.
made_machine four_nodes() {
  made_machine made;
  for (std::uint32_t i = 0; i < 8; ++i) made.cores.push_back({std::to_string(i), i / 4, i / 2, i / 2});
  return made;
}

} // namespace

TEST_CASE("nearest_lightest: it goes outward only as far as it pays") {
  situation s(build(four_nodes()));
  s.load(0, 7, 0);
  s.load(0, 1, 6); // home 7, the other node of the package 1 + 6
  CHECK(s.place(s.on_cpu(0)).worker.value == 0);
  s.load(0, 1, 7);
  CHECK(s.place(s.on_cpu(0)).worker.value == 2);
  CHECK(s.place(s.on_cpu(0)).level == level::same_package);
  s.load(2, 3, 10); // home 8
  CHECK(s.place(s.on_cpu(0)).worker.value == 0);
  s.load(0, 3, 17); // home 18, across 1 + 16
  CHECK(s.place(s.on_cpu(0)).worker.value == 4);
}

TEST_CASE("nearest_lightest: among equally good far workers the nearer one wins") {
  made_machine made = one_kind(4, 1);
  made.distances = {{10, 40, 20, 30}, {40, 10, 40, 40}, {20, 40, 10, 40}, {30, 40, 40, 10}};
  situation s(build(made));
  s.load(0, 0, 50);
  CHECK(s.place(s.on_cpu(0)).worker.value == 2);
  s.load(2, 2, 1);
  CHECK(s.place(s.on_cpu(0)).worker.value == 3);
}

TEST_CASE("nearest_lightest: a faster kind further out wins when that costs less") {
  made_machine made;
  made.capacities = {256, 1024};
  made.cores = {{"0", 0U, 0U, 0U, 0}, {"1", 0U, 1U, 1U, 0}, {"2", 1U, 2U, 2U, 1}};
  dispatch_weights weights;
  weights.spill = {1, 1, 1, 2.9};
  situation s(build(made), weights);
  CHECK(s.place(s.on_cpu(0)).worker.value == 2); // at home 4, idle though it is; across 1 + 2.9
  weights.spill.cross_package = 3;
  CHECK(situation(build(made), weights).place(s.on_cpu(0)).worker.value == 0); // 4 and 4: the lower level
}

TEST_CASE("nearest_lightest: spill need not grow with distance") {
  dispatch_weights weights;
  weights.spill = {9, 9, 9, 1};
  situation s(build(four_nodes()), weights);
  s.load(0, 1, 2);
  CHECK(s.place(s.on_cpu(0)).worker.value == 4);
}

TEST_CASE(
    "nearest_lightest: a spinning worker is chosen before a sleeping one, and an unavailable one never") {
  situation s(build(one_kind(1, 4)));
  s.boards().set_spinning({2});
  CHECK(s.place(s.on_cpu(0)).worker.value == 2);
  s.boards().set_unavailable({2});
  CHECK(s.place(s.on_cpu(0)).worker.value == 0);
  s.boards().set_unavailable({0});
  CHECK(s.place(s.on_cpu(0)).worker.value == 1);
  s.boards().set_unavailable({0}, false);
  CHECK(s.place(s.on_cpu(0)).worker.value == 0);
}

TEST_CASE("nearest_lightest: when no worker is available, it answers as if all were") {
  situation s(build(one_kind(2, 2)));
  for (std::uint32_t w = 0; w < 4; ++w) s.boards().set_unavailable({w});
  s.load(2, 2, 1);
  CHECK(s.place(s.on_cpu(2)).worker.value == 3);
  placement_hint hint;
  hint.worker = worker_id{1};
  CHECK(s.place(s.on_cpu(2), hint).worker.value == 1);
}

TEST_CASE("nearest_lightest: a worker between two tasks counts as idle without a mark") {
  situation s(build(one_kind(1, 2)));
  s.load(0, 0, 1);
  s.boards().set_between_tasks({1});
  CHECK(s.place(s.on_cpu(0)).worker.value == 1);
}

TEST_CASE("nearest_lightest: a hint is honoured if a worker can fulfil it, and otherwise ignored") {
  situation s(build(two_hybrid_sockets()));
  placement_hint hint;
  SUBCASE("a group") {
    hint.group = group_id{3};
    const placement p = s.place(s.on_cpu(0), hint);
    CHECK(p.worker.value == 24);
    CHECK(p.reason == placement_reason::hinted);
    CHECK(p.cost == 18);
  }
  SUBCASE("a package") {
    hint.package = 1;
    CHECK(s.place(s.on_cpu(0), hint).worker.value == 16);
  }
  SUBCASE("a node and a kind") {
    hint.node = 1;
    hint.kind = 0;
    CHECK(s.place(s.on_cpu(0), hint).worker.value == 24);
  }
  SUBCASE("a worker with any load") {
    hint.worker = worker_id{30};
    s.load(30, 30, 500);
    CHECK(s.place(s.on_cpu(0), hint).worker.value == 30);
    s.boards().set_unavailable({30});
    CHECK(s.place(s.on_cpu(0), hint).worker.value == 0);
    CHECK(s.place(s.on_cpu(0), hint).reason == placement_reason::idle_nearby);
  }
  SUBCASE("parts that no worker fulfils together") {
    hint.package = 0;
    hint.node = 1;
    CHECK(s.place(s.on_cpu(20), hint).worker.value == 16);
  }
  SUBCASE("things that do not exist") {
    hint.group = group_id{77};
    CHECK(s.place(s.on_cpu(0), hint).worker.value == 0);
    hint = {};
    hint.worker = worker_id{77};
    CHECK(s.place(s.on_cpu(0), hint).worker.value == 0);
  }
}

TEST_CASE("nearest_lightest: a home domain without workers sends its tasks outward") {
  made_machine made = one_kind(3, 2);
  made.quota_cpus = 2;
  situation s(build(made)); // both workers are in the first domain
  CHECK(s.place(s.on_cpu(4)).worker.value == 0);
  CHECK(s.place(s.on_cpu(4)).level == level::cross_package);
}

TEST_CASE("considered: from outside each group's lightest worker, from a worker also that worker, first") {
  situation s(build(two_hybrid_sockets()));
  s.load(0, 7, 2);
  s.load(4, 4, 1);
  const auto outside = s.considering(s.on_cpu(0));
  REQUIRE(outside.size() == 4);
  CHECK(outside[0].lightest.value == 4);
  CHECK(outside[0].score == 2);
  CHECK(outside[0].penalty == 0);
  CHECK(outside[1].penalty == 0);
  CHECK(outside[2].penalty == 16);

  const auto inside = s.considering(s.on_worker(4));
  REQUIRE(inside.size() == 5);
  CHECK(inside[0].lightest.value == 4);
  CHECK(inside[0].penalty == 0);
  CHECK(inside[1].group == group_id{0});
  CHECK(inside[1].lightest.value == 0);
  CHECK(inside[1].penalty == 2);
  CHECK(inside[2].penalty == 2);

  placement_hint hint;
  hint.package = 1;
  const auto hinted = s.considering(s.on_worker(4), hint);
  REQUIRE(hinted.size() == 2);
  CHECK(hinted[0].group == group_id{2});
}

TEST_CASE("origin: the group of a CPU, or a domain with workers by the seed") {
  made_machine made = one_kind(4, 2);
  made.quota_cpus = 4;
  const situation s(build(made));
  CHECK(origin_from_cpu(s.groups(), 5)->group == group_id{2});
  CHECK_FALSE(origin_from_cpu(s.groups(), 8));
  CHECK(s.on_worker(3).group == group_id{1});

  std::array<int, 4> drawn{};
  placement_rng rng(7);
  for (int i = 0; i < 1000; ++i) ++drawn[origin_at_random(s.workers(), rng).group.value];
  CHECK(drawn[0] > 400);
  CHECK(drawn[1] > 400);
  CHECK(drawn[2] + drawn[3] == 0);
  placement_rng again(7);
  placement_rng same(7);
  CHECK(origin_at_random(s.workers(), again).group == origin_at_random(s.workers(), same).group);
}

TEST_CASE("nearest_lightest: a worker keeps tasks that are too short for a comparison") {
  situation s(build(four_nodes()));
  s.load(0, 0, 9); // and the others are idle
  s.task_time_ns = 999;
  CHECK(s.place(s.on_worker(0)).worker.value == 0);
  CHECK(s.place(s.on_worker(0)).reason == placement_reason::own_queue);
  CHECK(s.place(s.on_worker(0), {.worker = worker_id{1}}).worker.value == 1); // unless a hint says otherwise
  s.task_time_ns = 1000;
  CHECK(s.place(s.on_worker(0)).worker.value != 0);
}

TEST_CASE("nearest_lightest: a worker keeps its own tasks up to a load") {
  situation s(build(four_nodes()));
  // With load 2 it costs itself 3, as much as an idle neighbour, 1 + 2; then it must ask.
  CHECK(s.rule().keeps_up_to(s.view(), s.on_worker(0)) == 1);
  s.task_time_ns = 100'000; // the neighbour 1 + 1
  CHECK(s.rule().keeps_up_to(s.view(), s.on_worker(0)) == 0);
}

TEST_CASE("nearest_lightest: from outside an answer holds for 2 us of tasks") {
  situation s(build(four_nodes()));
  const auto repeats = [&](std::uint64_t task_time_ns) {
    s.task_time_ns = task_time_ns;
    return s.place(s.on_cpu(0)).repeat;
  };
  CHECK(repeats(1) == 15);
  CHECK(repeats(125) == 15);
  CHECK(repeats(500) == 3);
  CHECK(repeats(1001) == 0);
  CHECK(repeats(50'000) == 0);
  s.task_time_ns = 1;
  CHECK(s.place(s.on_cpu(0), {.worker = worker_id{1}}).repeat == 0);
  CHECK(s.place(s.on_worker(0)).repeat == 0);
}
