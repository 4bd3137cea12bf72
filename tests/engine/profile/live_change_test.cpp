#include "live_change.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

using namespace corewise;
using namespace std::chrono_literals;

namespace {

std::vector<std::string> keys_between(const profile& now, const profile& next) {
  std::vector<std::string> keys;
  for (const auto& r : detail::what_needs_a_restart(now, next)) keys.push_back(r.key);
  return keys;
}

} // namespace

TEST_CASE("live changes: keys that the reference page calls live need no restart") {
  profile p;
  p.name = "another";
  p.workers.per_group = 3;
  p.workers.total = 5;
  p.dispatch.policy = "random";
  p.dispatch.weights = {.score = score_kind::count, .spill = {1, 2, 3, 8}};
  p.steal.policy = "random_half";
  p.steal.start = steal_start::random;
  p.steal.batch_max = 7;
  p.steal.minimum_at = {3, 3, 3};
  p.queues.lifo_cap = 0;
  p.queues.lifo_age.reset();
  p.queues.budget = 9;
  p.queues.oldest_first.reset();
  p.injection.target_latency = 2ms;
  p.injection.interval = {61, 61};
  p.injection.batch = {1, 2};
  p.idle.searchers_per_mille = 1;
  p.idle.spin = 1us;
  p.idle.wake = wake_order::lowest;
  p.idle.park_timeout = {park_timeout_setting::mode::fixed, 10ms};
  p.blocking.spares_max = 0;
  p.blocking.keep_alive = 1ms;
  p.blocking.stuck_after.reset();
  p.blocking.max_concurrent = 3;
  p.blocking.on_full = excess_action::refuse;
  p.limits = {5, full_action::wait};
  p.on_exception = exception_action::report;
  CHECK(check_profile(p).empty());
  CHECK(keys_between({}, p) == std::vector<std::string>{});
}

TEST_CASE(
    "live changes: each key that needs a restart is named, also items of lists and names that users choose") {
  profile p;
  p.topology.machine.source = synthetic_source{"pack:1 core:4"};
  p.topology.machine.use.packages = {1};
  p.topology.machine.capacities["P"] = 500;
  p.topology.groups.group_max = 4;
  p.topology.smt = smt_use::all;
  p.workers.pin = pin_to::core;
  p.queues.discipline = discipline::volt;
  p.queues.local = 8;
  p.strict = true;
  CHECK(keys_between({}, p) == std::vector<std::string>{"topology.source", "topology.source.synthetic",
                                                        "topology.use.packages[0]", "topology.group_max",
                                                        "topology.smt", "topology.capacity",
                                                        "topology.capacity.P", "workers.pin",
                                                        "queues.discipline", "queues.local", "strict"});
  CHECK(keys_between(p, p).empty());
}

TEST_CASE("live changes: the reason names the value found and the value in the engine") {
  profile p;
  p.queues.inbox.reset();
  const auto reasons = detail::what_needs_a_restart({}, p);
  REQUIRE(reasons.size() == 1);
  CHECK(reasons.front().why == "found \"unbounded\"; the engine runs with \"1024\" until a restart");
  p = {};
  p.topology.machine.use.nodes = {3};
  CHECK(detail::what_needs_a_restart(p, {}).front().why ==
        "found nothing; the engine runs with \"3\" until a restart");
}

TEST_CASE("live changes: values that differ only after their first 60 bytes differ") {
  profile p;
  std::string list = "0";
  for (int cpu = 2; cpu < 126; cpu += 2) list += "," + std::to_string(cpu);
  p.topology.machine.use.reserve = *cpu_set::parse(list);
  profile next = p;
  next.topology.machine.use.reserve = *cpu_set::parse(list + ",127");
  CHECK(keys_between(p, next) == std::vector<std::string>{"topology.use.reserve"});
  CHECK(keys_between(p, p).empty());
}
