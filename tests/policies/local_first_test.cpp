#include "made_machine.hpp"
#include "situation.hpp"

#include <doctest/doctest.h>

#include <array>

using namespace corewise;
using namespace corewise::tests;

TEST_CASE("local first: a worker keeps the tasks that it submits, at any load") {
  situation s(build(two_hybrid_sockets()), "local_first");
  s.boards().set_load({13}, 200);
  const placement p = s.place(s.on_worker(13));
  CHECK(p.worker.value == 13);
  CHECK(p.group == group_id{1});
  CHECK(p.level == level::same_group);
  CHECK(p.cost == 0);
  CHECK(p.reason == placement_reason::kept_local);
  CHECK_FALSE(p.injected);
}

TEST_CASE("local first: a task from outside goes to the home group's injection queue") {
  situation s(build(two_hybrid_sockets()), "local_first");
  s.load(0, 31, 1);
  s.boards().set_load({26}, 0);
  const placement p = s.place(s.on_cpu(31));
  CHECK(p.injected);
  CHECK(p.group == group_id{3});
  CHECK(p.worker.value == 26); // asleep: the one to wake
  CHECK(p.level == level::same_group);
  CHECK(p.reason == placement_reason::injected);
  s.boards().set_load({26}, 1);
  for (int i = 0; i < 100; ++i) CHECK(s.place_next(s.on_cpu(31)).group == group_id{3});
}

TEST_CASE("local first: a group without available workers, or without workers, passes the task to the "
          "nearest group") {
  made_machine made = one_kind(3, 2);
  made.distances = {{10, 30, 20}, {30, 10, 30}, {20, 30, 10}};
  situation s(build(made), "local_first");
  s.boards().set_unavailable({0});
  CHECK(s.place(s.on_cpu(0)).worker.value == 1);
  s.boards().set_unavailable({1});
  const placement p = s.place(s.on_cpu(0));
  CHECK(p.injected);
  CHECK(p.group == group_id{2});
  CHECK(p.level == level::cross_package);
  for (std::uint32_t w = 2; w < 6; ++w) s.boards().set_unavailable({w});
  CHECK(s.place(s.on_cpu(0)).group == group_id{0});

  made.quota_cpus = 2; // the last two groups have no workers
  situation few(build(made), "local_first");
  CHECK(few.place(few.on_cpu(5)).group == group_id{0});
}

TEST_CASE("local first: a worker in a blocking call sends its tasks to the injection queue of its group") {
  situation s(build(one_kind(2, 2)), "local_first");
  s.boards().set_unavailable({2});
  const placement p = s.place(s.on_worker(2));
  CHECK(p.injected);
  CHECK(p.group == group_id{1});
  CHECK(p.worker.value == 3);
  for (std::uint32_t w = 0; w < 4; ++w) s.boards().set_unavailable({w});
  CHECK(s.place(s.on_worker(2)).worker.value == 2); // as if all were available
  CHECK_FALSE(s.place(s.on_worker(2)).injected);
}

TEST_CASE("local first: if a hint allows workers, one of them is drawn") {
  situation s(build(one_kind(2, 4)), "local_first");
  placement_hint hint;
  hint.package = 1;
  std::array<int, 8> times{};
  for (int i = 0; i < 4000; ++i) {
    const placement p = s.place_next(s.on_cpu(0), hint);
    REQUIRE_FALSE(p.injected);
    REQUIRE(p.reason == placement_reason::hinted);
    ++times[p.worker.value];
  }
  for (std::uint32_t w = 0; w < 4; ++w) CHECK(times[w] == 0);
  for (std::uint32_t w = 4; w < 8; ++w) CHECK(times[w] > 800);
  for (int i = 0; i < 100; ++i) CHECK(s.place_next(s.on_worker(6), hint).worker.value == 6);
  hint.worker = worker_id{5};
  CHECK(s.place(s.on_worker(6), hint).worker.value == 5);
  s.boards().set_unavailable({5});
  CHECK(s.place(s.on_worker(6), hint).reason == placement_reason::kept_local);
  CHECK(s.place(s.on_cpu(0), hint).injected);
}
