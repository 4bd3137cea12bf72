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
  CHECK(s.rule().max_load_kept_unasked(s.view(), s.on_worker(0)) == 1);
  s.task_time_ns = 100'000; // the neighbour 1 + 1
  CHECK(s.rule().max_load_kept_unasked(s.view(), s.on_worker(0)) == 0);
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

namespace {

/// One domain of four cores with two CPUs each, 0-1 to 6-7. Every worker has `n` tasks, which are short.
struct rows_of_short_tasks : situation {
  explicit rows_of_short_tasks(std::uint32_t n, const dispatch_weights& weights = {})
      : situation(build(four_cores()), weights) {
    load(0, 3, n);
    task_time_ns = 100;
  }

  static made_machine four_cores() {
    made_machine made;
    for (const char* cpus : {"0-1", "2-3", "4-5", "6-7"}) made.cores.push_back({cpus, 0U, 0U, 0U});
    return made;
  }

  std::uint32_t from(std::uint32_t cpu) const { return place(on_cpu(cpu)).worker.value; }
};

} // namespace

TEST_CASE("nearest_lightest: from 16 tasks on, short tasks from outside go to the submitter's own core") {
  rows_of_short_tasks s(16);
  CHECK(s.from(0) == 0);
  CHECK(s.from(2) == 1);
  CHECK(s.from(7) == 3); // the core's other CPU
  const placement p = s.place(s.on_cpu(7));
  CHECK(p.reason == placement_reason::own_core);
  CHECK(p.cost == 17);
  CHECK(p.repeat == 15);
  CHECK(s.place(s.on_cpu(0)).reason == placement_reason::least_cost); // the lightest anyway
}

TEST_CASE("nearest_lightest: the own core's worker wins with less than twice as many tasks") {
  rows_of_short_tasks s(16);
  s.load(3, 3, 31);
  CHECK(s.from(6) == 3);
  CHECK(s.place(s.on_cpu(6)).score == 31); // by its level, which stands for 30 and 31
  s.load(3, 3, 32);
  CHECK(s.from(6) == 0);
  s.load(0, 2, 17); // a level of two loads, like that of 16
  CHECK(s.from(6) == 0);
  s.load(0, 2, 18);
  CHECK(s.from(6) == 3);
}

TEST_CASE("nearest_lightest: the own core's worker is not preferred below 16 tasks or for long tasks") {
  CHECK(rows_of_short_tasks(15).from(6) == 0);
  rows_of_short_tasks s(16);
  s.load(0, 0, 15);
  CHECK(s.from(6) == 0);
  s.load(0, 0, 16);
  CHECK(s.from(6) == 3);
  s.task_time_ns = 1000; // two of them take 2 us
  CHECK(s.from(6) == 3);
  s.task_time_ns = 1001;
  CHECK(s.from(6) == 0);
  dispatch_weights no_stealing;
  no_stealing.keep_below_ns = 0;
  CHECK(rows_of_short_tasks(16, no_stealing).from(6) == 0);
}

TEST_CASE("nearest_lightest: below 16 tasks no own core is preferred when other domains are compared") {
  situation s(build(four_nodes()));
  s.load(0, 1, 15);
  for (std::uint32_t w = 2; w < 8; ++w) s.boards().set_unavailable({w}); // idle by their level
  s.task_time_ns = 100;
  CHECK(s.place(s.on_cpu(1)).worker.value == 0);
  s.load(0, 1, 16);
  CHECK(s.place(s.on_cpu(1)).worker.value == 1);
}

TEST_CASE("nearest_lightest: the own core's worker must be available, and there must be a CPU and no hint") {
  rows_of_short_tasks s(16);
  CHECK(s.place({s.on_cpu(6).group, std::nullopt}).worker.value == 0);
  CHECK(s.place(s.on_cpu(6), {.package = 0}).worker.value == 0);
  CHECK(s.place(s.on_cpu(6), {.package = 9}).worker.value == 3); // no worker fulfils that
  s.boards().set_unavailable({3});
  CHECK(s.from(6) == 0);
  s.load(0, 0, 500);
  CHECK(s.from(6) == 1);
  for (std::uint32_t w = 0; w < 4; ++w) s.boards().set_unavailable({w});
  CHECK(s.from(6) == 1); // as if all were available, but none is preferred
}

TEST_CASE("nearest_lightest: the own core's worker must be of the chosen worker's group") {
  made_machine made = rows_of_short_tasks::four_cores();
  made.capacities = {512, 1024};
  made.cores[0].kind = made.cores[1].kind = 1;
  situation s(build(made));
  s.task_time_ns = 100;
  s.load(0, 1, 40); // the fast ones cost 41
  s.load(2, 3, 18); // the slow ones cost 38
  CHECK(s.place(s.on_cpu(6)).worker.value == 3);
  CHECK(s.place(s.on_cpu(2)).worker.value == 2); // worker 1 has no penalty, but is of another kind
  s.load(2, 3, 20);
  CHECK(s.place(s.on_cpu(6)).worker.value == 0);
  CHECK(s.place(s.on_cpu(2)).worker.value == 1);
}

TEST_CASE("nearest_lightest: the own core's worker is judged by its level, though that is old") {
  rows_of_short_tasks s(16);
  s.load(3, 3, 500);
  s.boards().set_level({3}, load_level(20));
  CHECK(s.from(6) == 3);
  CHECK(s.place(s.on_cpu(6)).score == 21);
  s.load(3, 3, 17);
  s.boards().set_level({3}, load_level(32));
  CHECK(s.from(6) == 0);
  s.boards().set_level({3}, load_levels::no_worker);
  CHECK(s.from(6) == 0);
}

TEST_CASE("nearest_lightest: of several workers on the own core the first is preferred") {
  worker_options all_cpus;
  all_cpus.smt = smt_use::all;
  situation s(build(rows_of_short_tasks::four_cores()), {}, all_cpus);
  s.load(0, 7, 20);
  s.task_time_ns = 100;
  for (std::uint32_t cpu = 0; cpu < 8; ++cpu)
    CHECK(s.workers()[s.place(s.on_cpu(cpu)).worker].cpu == cpu); // each CPU has a worker of its own
  worker_options many;
  many.per_group = 16;
  situation shared(build(rows_of_short_tasks::four_cores()), {}, many);
  shared.load(0, 15, 20);
  shared.task_time_ns = 100;
  CHECK(shared.place(shared.on_cpu(7)).worker.value == 3);
}
