#include "made_machine.hpp"
#include "situation.hpp"

#include <doctest/doctest.h>

using namespace corewise;
using namespace corewise::tests;

TEST_CASE("lightest: the worker with the fewest queued tasks wins, at any distance and for any submitter") {
  situation s(build(two_hybrid_sockets()), "lightest");
  s.load(0, 31, 5);
  s.boards().set_load({29}, 4);
  for (const std::uint32_t cpu : {0U, 15U, 31U}) CHECK(s.place(s.on_cpu(cpu)).worker.value == 29);
  for (const std::uint32_t w : {0U, 15U, 29U}) CHECK(s.place(s.on_worker(w)).worker.value == 29);

  const placement p = s.place(s.on_cpu(0));
  CHECK(p.group == group_id{3});
  CHECK(p.level == level::cross_package);
  CHECK(p.score == 3); // one of the four runs
  CHECK(p.cost == 3);
  CHECK(p.reason == placement_reason::fewest_queued);
  CHECK_FALSE(p.injected);
}

TEST_CASE("lightest: strictly smaller wins, so ties go to the lowest index") {
  situation s(build(one_kind(2, 4)), "lightest");
  s.load(0, 7, 4);
  CHECK(s.place(s.on_worker(6)).worker.value == 0);
  s.boards().set_load({3}, 3);
  s.boards().set_load({5}, 3);
  CHECK(s.place(s.on_worker(6)).worker.value == 3);
  s.boards().set_load({7}, 2);
  CHECK(s.place(s.on_worker(6)).worker.value == 7);
}

TEST_CASE("lightest: it counts queued tasks, not the LIFO slot and not the running task") {
  situation s(build(one_kind(1, 3)), "lightest");
  s.boards().set_load({0}, worker_load{1, 0, 0});
  s.boards().set_load({1}, worker_load{0, 1, 1});
  CHECK(s.place(s.on_cpu(0)).worker.value == 1); // before the idle one, which has no fewer queued
  s.boards().set_load({1}, worker_load{1, 0, 0});
  CHECK(s.place(s.on_cpu(0)).worker.value == 2);
}

TEST_CASE("lightest: workers in blocking calls are left out, unless all workers are") {
  situation s(build(one_kind(1, 4)), "lightest");
  s.load(1, 3, 3);
  s.boards().set_unavailable({0});
  CHECK(s.place(s.on_cpu(0)).worker.value == 1);
  s.boards().set_unavailable({1});
  s.boards().set_unavailable({2});
  CHECK(s.place(s.on_cpu(0)).worker.value == 3);
  s.boards().set_unavailable({3});
  CHECK(s.place(s.on_cpu(0)).worker.value == 0);
}

TEST_CASE("lightest: a hint is honoured while an available worker fulfils it") {
  situation s(build(one_kind(2, 4)), "lightest");
  s.load(4, 7, 9);
  s.boards().set_load({6}, 8);
  placement_hint hint;
  hint.package = 1;
  CHECK(s.place(s.on_cpu(0), hint).worker.value == 6);
  CHECK(s.place(s.on_cpu(0), hint).reason == placement_reason::hinted);
  hint.worker = worker_id{5};
  CHECK(s.place(s.on_cpu(0), hint).worker.value == 5);
  s.boards().set_unavailable({5});
  CHECK(s.place(s.on_cpu(0), hint).worker.value == 0);
  CHECK(s.place(s.on_cpu(0), hint).reason == placement_reason::fewest_queued);
  for (std::uint32_t w = 0; w < 8; ++w) s.boards().set_unavailable({w});
  CHECK(s.place(s.on_cpu(0), hint).worker.value == 5);
  hint.worker = worker_id{99};
  CHECK(s.place(s.on_cpu(0), hint).worker.value == 0);
}

TEST_CASE("lightest: each group's lightest worker is considered") {
  situation s(build(one_kind(2, 4)), "lightest");
  s.load(0, 7, 9);
  s.boards().set_load({2}, 3);
  s.boards().set_load({5}, 4);
  const auto all = s.rule().consider(s.view(), s.on_cpu(0), {}, placement_rng(1), {});
  REQUIRE(all.size() == 2);
  CHECK(all[0].lightest.value == 2);
  CHECK(all[0].score == 2);
  CHECK(all[1].lightest.value == 5);
  CHECK(all[1].score == 3);
  CHECK(all[1].penalty == 0);
  CHECK(s.rule().score_unit() == "tasks queued");
}
