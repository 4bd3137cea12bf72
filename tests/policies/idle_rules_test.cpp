// Tests which worker a task wakes and which worker may take what.

#include "idle_rules_situation.hpp"
#include "made_machine.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <set>

using namespace corewise;
using namespace corewise::tests;

namespace {

using order = std::vector<std::uint32_t>;

} // namespace

TEST_CASE("idle rules: the target is woken first, then its group, its domain, its node, and the packages by "
          "distance") {
  rules_situation s;
  s.rules.sleep(0, last_worker);
  s.rules.waiting[0] = elsewhere;
  CHECK(s.rules.all_woken_by(1) == order{1,  0,                          // target, group
                                         2,  3,                          // domain
                                         4,  5,  6,  7,                  // node
                                         16, 17, 18, 19, 20, 21, 22, 23, // the nearer package
                                         8,  9,  10, 11, 12, 13, 14, 15});
  CHECK(s.rules.asleep.empty());
}

TEST_CASE(
    "idle rules: if the profile says so, the lowest worker of the domain is woken first, for any target") {
  rules_situation s;
  s.rules.lowest = true;
  s.rules.sleep(0, 7);
  CHECK(s.rules.all_woken_by(3) == order{0, 1, 2, 3});
}

TEST_CASE("idle rules: while a worker searches the domain, no worker is woken for it") {
  rules_situation s;
  s.rules.sleep(0, last_worker);
  s.rules.waiting[0] = elsewhere;
  s.rules.searchers[0] = 1;
  CHECK(!s.rules.woken_by(1));
  CHECK(s.rules.woken_by(4) == 4U); // another domain
  s.rules.searchers[0] = 0;
  CHECK(s.rules.woken_by(1) == 1U);
}

TEST_CASE("idle rules: no worker farther out is woken for fewer tasks than the threshold of its level") {
  rules_situation s;
  s.rules.sleep(4, last_worker); // the domain is busy
  s.rules.waiting[0] = on_node - 1;
  CHECK(!s.rules.woken_by(0));
  s.rules.waiting[0] = on_node;
  CHECK(s.rules.all_woken_by(0) == order{4, 5, 6, 7});
  s.rules.waiting[0] = elsewhere - 1;
  CHECK(!s.rules.woken_by(0));
  s.rules.waiting[0] = elsewhere;
  CHECK(s.rules.woken_by(0) == 16U);
}

TEST_CASE("idle rules: while a worker searches the nearest domain with sleepers, no other one is woken") {
  rules_situation s;
  s.rules.sleep(4, last_worker);
  s.rules.waiting[0] = elsewhere;
  s.rules.searchers[1] = 1; // it finds nothing there and comes here
  CHECK(!s.rules.woken_by(0));
  s.rules.searchers[1] = 0;
  s.rules.searchers[4] = 1; // farther out than the first that sleeps
  CHECK(s.rules.woken_by(0) == 4U);
  s.rules.asleep.clear();
  s.rules.sleep(8, 15);
  s.rules.searchers[1] = 1; // no worker sleeps there
  s.rules.searchers[4] = 0;
  CHECK(s.rules.woken_by(0) == 8U);
}

TEST_CASE("idle rules: an active worker is woken, a retired one is not") {
  rules_situation s;
  s.rules.sleep(0, 3);
  s.rules.active[0] = 1;
  CHECK(s.rules.all_woken_by(1) == order{0, 2, 3});
  CHECK(s.rules.asleep == std::set<std::uint32_t>{1});
}

TEST_CASE("idle rules: when a whole domain has retired, other workers come for a single task") {
  rules_situation s;
  s.rules.sleep(0, last_worker);
  s.rules.active[0] = s.rules.active[1] = 0;
  s.rules.waiting[0] = 1;
  CHECK(s.rules.woken_by(0) == 4U);
  CHECK(s.rules.may_steal({4}, {0}));
  s.rules.active[1] = 1;
  CHECK_FALSE(s.rules.may_steal({4}, {0}));
}

TEST_CASE("idle rules: a worker may take any task of its own domain, and elsewhere from the threshold of the "
          "level on") {
  rules_situation s;
  CHECK(s.rules.may_steal({0}, {0}));
  CHECK(s.rules.may_steal({0}, {1}));
  for (const auto& [thief, least] : {std::pair{group_id{2}, on_node}, {group_id{4}, elsewhere}}) {
    CAPTURE(thief.value);
    s.rules.waiting[0] = least - 1;
    CHECK_FALSE(s.rules.may_steal(thief, {0}));
    CHECK_FALSE(s.rules.may_steal(thief, {1})); // the domain's waiting tasks count, not the group's
    s.rules.waiting[0] = least;
    CHECK(s.rules.may_steal(thief, {0}));
    CHECK(s.rules.may_steal(thief, {1}));
  }
}

TEST_CASE(
    "idle rules: the last searcher that finds work wakes another worker if more waits, and otherwise none") {
  rules_situation s;
  s.rules.sleep(0, last_worker);
  CHECK_FALSE(s.rules.wake_for_normal(worker_id{3}));
  s.rules.waiting[5] = elsewhere; // not its domain
  CHECK_FALSE(s.rules.wake_for_normal(worker_id{3}));
  CHECK(!s.rules.woken);
  s.rules.waiting[0] = 1;
  CHECK(s.rules.wake_for_normal(worker_id{3}));
  CHECK(s.rules.woken == 3U);
  s.rules.woken.reset();
  CHECK(s.rules.wake_for_normal(worker_id{3}));
  CHECK(s.rules.woken == 2U); // its group comes before the others of the domain
  s.rules.asleep.clear();
  s.rules.sleep(4, last_worker);
  s.rules.woken.reset();
  CHECK(s.rules.wake_for_normal(worker_id{3}));
  CHECK(!s.rules.woken);
  s.rules.waiting[0] = on_node;
  CHECK(s.rules.wake_for_normal(worker_id{3}));
  CHECK(s.rules.woken == 4U);
}

TEST_CASE(
    "idle rules: a searcher that a waker relies on for another domain is asked to look after that domain") {
  rules_situation s;
  s.rules.sleep(0, last_worker);
  s.rules.waiting[0] = elsewhere;
  CHECK(s.rules.woken_by(0) == 0U);
  CHECK(s.rules.asked.empty()); // its own domain
  s.rules.asleep.clear();
  s.rules.sleep(4, 7);
  s.rules.waiting[0] = on_node - 1;
  CHECK(!s.rules.woken_by(0));
  CHECK(s.rules.asked.empty()); // too little
  s.rules.waiting[0] = on_node;
  CHECK(s.rules.woken_by(0) == 4U); // more may wait than it takes
  CHECK(s.rules.asked == std::set<std::uint32_t>{1});
  s.rules.asked.clear();
  s.rules.searchers[1] = 1;
  CHECK(!s.rules.woken_by(0));
  CHECK(s.rules.asked == std::set<std::uint32_t>{1});
}

TEST_CASE("idle rules: a waker does not rely on a searcher that has left when it is asked") {
  rules_situation s;
  s.rules.sleep(4, 7);
  s.rules.waiting[0] = on_node;
  s.rules.searchers[1] = 1;
  s.rules.leave_when_asked = true;
  CHECK(s.rules.woken_by(0) == 4U);
}

TEST_CASE("idle rules: the last searcher that was asked wakes another worker of its domain while work waits "
          "elsewhere") {
  rules_situation s;
  s.rules.sleep(5, 7);
  s.rules.waiting[0] = on_node;
  CHECK(s.rules.woken_when_found(4).empty());
  CHECK(s.rules.looked_at == std::set<std::uint32_t>{1}); // it was not asked

  s.rules.asked = {1};
  s.rules.woken_search = true;
  CHECK(s.rules.woken_when_found(4) == order{5});
  CHECK(s.rules.asked == std::set<std::uint32_t>{1}); // the woken worker is asked in its turn
  CHECK(s.rules.woken_when_found(4).empty());
  CHECK(s.rules.asked == std::set<std::uint32_t>{1}); // the rest is left to that worker
  CHECK(s.rules.looked_at == std::set<std::uint32_t>{1});
  s.rules.searchers[1] = 0;
  CHECK(s.rules.woken_when_found(5) == order{6}); // no sleeper is left in its group
  s.rules.searchers[1] = 0;

  s.rules.waiting[0] = on_node - 1;
  CHECK(s.rules.woken_when_found(6).empty());
  CHECK(s.rules.asked.empty());
  CHECK(s.rules.looked_at == std::set<std::uint32_t>{0, 1, 2, 3, 4, 5});
  CHECK(s.rules.asleep == std::set<std::uint32_t>{7});
}

TEST_CASE(
    "idle rules: work in its own domain comes first, and the worker that is woken for it is asked in turn") {
  rules_situation s;
  s.rules.sleep(5, 7);
  s.rules.waiting[0] = on_node;
  s.rules.waiting[1] = 1;
  s.rules.asked = {1};
  s.rules.woken_search = true;
  CHECK(s.rules.woken_when_found(4) == order{5});
  CHECK(s.rules.asked == std::set<std::uint32_t>{1});
  CHECK_FALSE(s.rules.looked_at.contains(0));
}

TEST_CASE("idle rules: without sleepers in its domain, the last searcher that was asked wakes one farther "
          "out for each domain with work") {
  rules_situation s;
  s.rules.sleep(12, last_worker); // domains 3, 4 and 5
  s.rules.waiting[0] = elsewhere;
  s.rules.waiting[2] = elsewhere;
  s.rules.asked = {1};
  s.rules.woken_search = true;
  CHECK(s.rules.woken_when_found(4) == order{16, 12}); // the nearest to domain 0, and to 2
  CHECK(s.rules.asked == std::set<std::uint32_t>{1, 3, 4});
}

TEST_CASE("idle rules: a searcher of a domain looks after the work that waits there") {
  rules_situation s;
  s.rules.sleep(5, 7);
  s.rules.waiting[0] = on_node;
  s.rules.searchers[0] = 1;
  s.rules.asked = {1};
  CHECK(s.rules.woken_when_found(4).empty());
  CHECK(s.rules.asked.empty());
}

TEST_CASE("idle rules: the last searcher that was asked wakes another for a class, unless a worker is idle "
          "in the domain of that work") {
  rules_situation s;
  s.rules.active[0] = s.rules.active[1] = 0; // so that a single one is enough
  s.rules.sleep(5, 7);
  s.rules.background[0] = true;
  s.rules.asked = {1};
  CHECK(s.rules.woken_when_found(4) == order{5});
  s.rules.asked = {1};
  s.rules.spinning = {0};
  CHECK(s.rules.woken_when_found(4).empty());
}

TEST_CASE(
    "idle rules: a searcher that parks asks the remaining searchers, and the last one looks everywhere") {
  using set = std::set<std::uint32_t>;
  rules_situation s;
  const auto stays = [&](std::uint32_t w, bool last) {
    s.rules.looked_at.clear();
    return s.rules.sees_work(worker_id{w}, last);
  };
  s.rules.waiting[0] = on_node;
  s.rules.searchers[1] = 1;
  CHECK_FALSE(stays(4, false));
  CHECK(s.rules.looked_at == set{sleepers::own_queues});
  CHECK(s.rules.asked == set{1});
  s.rules.searchers[1] = 0; // the other one has left meanwhile
  CHECK(stays(4, false));
  CHECK(s.rules.looked_at == set{sleepers::everywhere});

  CHECK(stays(4, true));
  CHECK(s.rules.looked_at == set{sleepers::everywhere});
  CHECK(s.rules.asked == set{1}); // it may find something else first
  s.rules.waiting[0] = 0;
  CHECK_FALSE(stays(4, true));
  CHECK(s.rules.asked.empty());
  s.rules.waiting[0] = on_node;
  CHECK(stays(4, true));
  CHECK(s.rules.asked.empty()); // no worker relies on it

  s.rules.steals = false;
  s.rules.searchers[1] = 1;
  CHECK(stays(4, false));
  CHECK(s.rules.looked_at == set{sleepers::everywhere});
  CHECK(s.rules.asked.empty());
}

TEST_CASE("idle rules: in a single domain no searcher is asked") {
  made_machine made;
  made.capacities = {full_capacity};
  for (std::uint32_t i = 0; i < 2; ++i) made.cores.push_back({std::to_string(i), 0, 0, 0, 0});
  const topology machine = build(made);
  const locality_groups groups(machine, {});
  const worker_layout layout(machine, groups, {});
  REQUIRE(groups.domains().size() == 1);
  sleepers rules(groups, layout);
  rules.searchers[0] = 1;
  CHECK_FALSE(rules.sees_work(worker_id{0}, false));
  CHECK(rules.looked_at == std::set<std::uint32_t>{sleepers::own_queues});
  CHECK(rules.asked.empty());
}

TEST_CASE(
    "idle rules: without stealing the target is woken, or a worker that takes from its injection queue") {
  rules_situation s;
  s.rules.steals = false;
  s.rules.sleep(0, last_worker);
  s.rules.searchers[0] = 1; // a searcher that does not count
  s.rules.waiting[0] = elsewhere;
  CHECK(s.rules.woken_by(1) == 1U);
  CHECK(!s.rules.woken_by(1));
  CHECK(!s.rules.woken_for_injection);
  s.rules.injected_in[0] = 1;
  CHECK(!s.rules.woken_by(1));
  CHECK(s.rules.woken_for_injection == 0U);
}

TEST_CASE("searchers: their bound is a share of the domain's workers, rounded up, at least one") {
  CHECK(searchers_of(0, 500) == 1);
  CHECK(searchers_of(1, 500) == 1);
  CHECK(searchers_of(2, 500) == 1);
  CHECK(searchers_of(3, 500) == 2);
  CHECK(searchers_of(8, 500) == 4);
  CHECK(searchers_of(8, 1) == 1);
  CHECK(searchers_of(8, 125) == 1);
  CHECK(searchers_of(8, 126) == 2);
  CHECK(searchers_of(8, 1000) == 8);
  CHECK(searchers_of(7, 999) == 7);
  CHECK(searchers_of(65'536, 1000) == 65'536);
  CHECK(searchers_of(4'000'000'000, 1000) == 4'000'000'000); // the product loses nothing
}

TEST_CASE("idle rules: of a domain that stands still, others take even a single task, at any distance") {
  rules_situation s;
  s.rules.sleep(20, last_worker); // in the third package
  s.rules.waiting[0] = 1;
  CHECK(!s.rules.woken_by(0));
  CHECK(!s.rules.may_steal({10}, {0}));
  s.rules.still.insert(0);
  CHECK(s.rules.woken_by(0) == 20U);
  CHECK(s.rules.may_steal({10}, {0}));
  CHECK(!s.rules.may_steal({10}, {2})); // another domain
}

TEST_CASE(
    "idle rules: of long tasks fewer are enough, in proportion, where all workers of the domain have work") {
  rules_situation s;
  const auto taken = [&](std::uint64_t task_time, std::uint32_t waiting) {
    s.rules.task_time[0] = task_time;
    s.rules.waiting[0] = waiting;
    return s.rules.may_steal(group_id{4}, group_id{0}); // seven of 50 us
  };
  constexpr std::uint64_t us = 1000;
  CHECK(!taken(50 * us, elsewhere - 1));
  CHECK(!taken(99 * us, 3));
  CHECK(taken(99 * us, 4));
  CHECK(!taken(349 * us, 1));
  CHECK(taken(350 * us, 1));
  CHECK(taken(std::numeric_limits<std::uint64_t>::max(), 1));
  CHECK(!taken(350 * us, 0));

  s.rules.sleep(1, 1); // a worker of that domain sleeps,
  CHECK(!taken(350 * us, 1));
  CHECK(taken(350 * us, elsewhere));
  s.rules.asleep.clear();
  s.rules.searchers[0] = 1; // or searches
  CHECK(!taken(350 * us, 1));
  CHECK(taken(350 * us, elsewhere));
  s.rules.searchers[0] = 0;

  s.rules.sleep(8, 8);
  s.rules.waiting[0] = 1;
  CHECK(s.rules.woken_by(0) == 8);
  s.rules.sleep(8, 8);
  s.rules.task_time[0] = 300 * us;
  CHECK(!s.rules.woken_by(0));
}

TEST_CASE("idle rules: a waker and a thief go by the longest tasks of a domain's groups in which workers "
          "take part") {
  rules_situation s;
  s.rules.waiting[0] = 1;
  s.rules.task_time[1] = 10'000'000;       // the domain's other group
  for (const std::uint32_t w : {0U, 2U}) { // of each group
    s.rules.sleep(8, 8);
    CHECK(s.rules.woken_by(w) == 8);
    s.rules.sleep(8, 8);
    CHECK(s.rules.woken_when_found(w) == order{8});
    CHECK(s.rules.may_steal(group_id{4}, group_id{w / 2}));
  }
  s.rules.active[1] = 0;
  CHECK(!s.rules.may_steal(group_id{4}, group_id{0}));
}
