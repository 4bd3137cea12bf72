#include "made_machine.hpp"

#include <corewise/policies/still_boards.hpp>

#include <doctest/doctest.h>

using namespace corewise;
using namespace corewise::tests;

TEST_CASE("still boards: they show the loads that were set, and the idle workers") {
  const topology machine = build(one_kind(2, 70)); // wider than one word of bits
  const locality_groups groups(machine, {domain_kind::llc, 0});
  const worker_layout workers(machine, groups, {});
  still_boards boards(groups, workers);
  const load_view view = boards.view(123);
  CHECK(view.task_time_ns == 123);
  CHECK(view.board({1}).parked.test(69));
  CHECK(view.load({1}, 69).total() == 0);

  boards.set_load({139}, 5);
  CHECK(view.load({1}, 69).running == 1);
  CHECK(view.load({1}, 69).queued == 4);
  CHECK(view.load({1}, 68).total() == 0);
  CHECK_FALSE(view.board({1}).parked.test(69));

  boards.set_load({139}, 4294967295U);
  CHECK(view.load({1}, 69).total() == 2147483648U); // as much as a ring's positions can say

  boards.set_spinning({139});
  CHECK(view.load({1}, 69).total() == 0);
  CHECK(view.board({1}).spinning.lowest() == 69);
  boards.set_load({139}, 0);
  CHECK_FALSE(view.board({1}).spinning.any());
  CHECK(view.board({1}).parked.test(69));

  boards.set_unavailable({139});
  CHECK(view.board({1}).unavailable.word(1) == 0b100000);
  boards.set_unavailable({139}, false);
  CHECK_FALSE(view.board({1}).unavailable.any());
}

TEST_CASE("still boards: the parts of a load are set and shown one by one") {
  const topology machine = build(one_kind(1, 2));
  const locality_groups groups(machine, {});
  const worker_layout workers(machine, groups, {});
  still_boards boards(groups, workers);
  const load_view view = boards.view();
  boards.set_load({1}, worker_load{3, 1, 1});
  const worker_load load = view.load({0}, 1);
  CHECK(load.queued == 3);
  CHECK(load.slot == 1);
  CHECK(load.running == 1);
  CHECK(load.total() == 5);
  CHECK_FALSE(view.board({0}).parked.test(1));
  CHECK(view.load({0}, 0).total() == 0);

  boards.set_load({1}, worker_load{0, 1, 0});
  CHECK(view.load({0}, 1).total() == 1);
  CHECK_FALSE(view.board({0}).parked.test(1));
  boards.set_load({1}, 2); // one runs, one is queued, and the slot is empty again
  CHECK(view.load({0}, 1).slot == 0);
  CHECK(view.load({0}, 1).total() == 2);
  boards.set_load({1}, worker_load{});
  CHECK(view.board({0}).parked.test(1));

  boards.set_activity({1}, {7, 99});
  CHECK(view.activity({0}, 1).touches == 7);
  CHECK(view.activity({0}, 1).touched_at == 99);
  CHECK(view.activity({0}, 0).touches == 0);
}
