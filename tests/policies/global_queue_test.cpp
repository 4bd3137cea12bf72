#include "made_machine.hpp"
#include "situation.hpp"

#include <doctest/doctest.h>

using namespace corewise;
using namespace corewise::tests;

TEST_CASE("global queue: every task is injected, also from a worker, and so are suspended tasks") {
  situation s(build(two_hybrid_sockets()), "global_queue");
  for (const task_origin& origin : {s.on_cpu(31), s.on_worker(13)}) {
    const placement p = s.place(origin);
    CHECK(p.injected);
    CHECK(p.reason == placement_reason::injected);
    CHECK(p.cost == 0);
    CHECK(p.group == origin.group);
  }
  CHECK_FALSE(s.rule().returns());
  CHECK_FALSE(s.rule().max_load_kept_unasked(s.view(), s.on_worker(13)));
}

TEST_CASE("global queue: the policy names a sleeper to wake, or any worker of the home group") {
  situation s(build(two_hybrid_sockets()), "global_queue");
  s.load(0, 31, 1);
  s.boards().set_load({26}, 0);
  CHECK(s.place(s.on_cpu(31)).worker.value == 26);
  s.boards().set_load({26}, 1);
  for (int i = 0; i < 100; ++i) CHECK(s.place_next(s.on_cpu(31)).group == group_id{3});
}

TEST_CASE("global queue: it names no worker in a blocking call to wake while others are available") {
  situation s(build(one_kind(2, 2)), "global_queue");
  s.boards().set_unavailable({0});
  CHECK(s.place(s.on_cpu(0)).worker.value == 1);
  s.boards().set_unavailable({1});
  CHECK(s.place(s.on_cpu(0)).group == group_id{1});
  s.boards().set_unavailable({2});
  s.boards().set_unavailable({3});
  CHECK(s.place(s.on_cpu(0)).group == group_id{0});
}

TEST_CASE("global queue: a task with a hint goes to a worker that the hint allows") {
  situation s(build(one_kind(2, 2)), "global_queue");
  placement_hint hint;
  hint.node = 1;
  for (int i = 0; i < 100; ++i) {
    const placement p = s.place_next(s.on_worker(0), hint);
    CHECK_FALSE(p.injected);
    CHECK(p.worker.value >= 2);
    CHECK(p.reason == placement_reason::hinted);
  }
}
