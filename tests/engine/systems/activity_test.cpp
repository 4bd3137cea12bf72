#include "system_engine.hpp"

#include <corewise/policies/activity.hpp>

#include <doctest/doctest.h>

using namespace corewise;
using namespace corewise::tests;

TEST_CASE("activity: tasks go to the head of the order, thieves to its tail") {
  const profile p = system_profile("activity", 1);
  situation s(build(one_kind(2, 3)), p.dispatch.policy.c_str());
  s.load(0, 5, 2);
  for (const auto& [w, touches] : {std::pair{0U, 3U}, {1U, 9U}, {2U, 1U}, {3U, 5U}, {4U, 12U}, {5U, 4U}})
    s.boards().set_activity({w}, {touches, 1});
  steal_tours tours(s, p.steal.policy);
  CHECK(s.place(s.on_cpu(0)).worker.value == 2);
  CHECK(tours.victims(2) == std::vector<std::uint32_t>{4, 1, 3, 5, 0});
}

TEST_CASE("activity: a worker that takes work moves towards the tail, and a robbed worker cools") {
  const profile p = system_profile("activity", 1);
  situation s(build(one_kind(1, 3)), p.dispatch.policy.c_str());
  s.load(0, 2, 2);
  board_entry* entries = s.view().board({0}).entries;
  const auto head = [&] { return s.place(s.on_cpu(0)).worker.value; };
  std::uint64_t now = 0;
  CHECK(head() == 0);
  touch(entries[0], ++now);
  CHECK(head() == 1);
  touch(entries[1], ++now);
  CHECK(head() == 2);
  touch(entries[2], ++now);
  CHECK(head() == 0); // as active as the others, but touched longest ago
  for (int i = 0; i < 6; ++i) touch(entries[1], ++now);
  for (int i = 0; i < 3; ++i) touch(entries[0], ++now);
  steal_tours tours(s, p.steal.policy);
  CHECK(tours.victims(2) == std::vector<std::uint32_t>{1, 0});
  cool(entries[1]); // 7 to 3: so the thieves do not herd on it
  CHECK(tours.victims(2) == std::vector<std::uint32_t>{0, 1});
}

TEST_CASE("activity: in the engine four tasks that wait for one another run on four workers") {
  engine e(system_profile("activity", 4));
  for (int round = 0; round < 50; ++round) {
    gate all;
    for (int i = 0; i < 4; ++i) REQUIRE(e.submit([&] { all.pass(); }) == submit_result::accepted);
    all.wait_for(4); // hangs if a task stays behind one that does not end
    all.open();
    e.drain();
  }
  for (const worker_metrics& w : e.metrics().workers) CHECK(w.executed == 50);
  CHECK(load_with(e, 500, 50) == 500 * 51);
}
