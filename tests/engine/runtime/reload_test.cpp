// Tests of `apply`: the rules after it, its refusals, and its callers.

#include "reloading.hpp"
#include "small_engine.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <thread>

using namespace corewise;
using namespace corewise::tests;

TEST_CASE("apply: the new profile holds as a whole, and the engine shows it") {
  engine e(small_profile(3));
  profile p = small_profile(3);
  p.name = "another";
  p.dispatch.policy = "round_robin";
  p.dispatch.weights.score = score_kind::count;
  p.steal.policy = "random_half";
  p.queues.lifo_cap = 0;
  p.queues.budget = 7;
  p.injection.target_latency = std::chrono::microseconds{100};
  p.idle.spin = std::chrono::microseconds{0};
  p.blocking.spares_max = 1;
  p.on_exception = exception_action::report;
  CHECK(e.apply(p).applied());
  CHECK(e.configuration().name == "another");
  CHECK(e.configuration().dispatch.policy == "round_robin");
  CHECK(e.metrics().reloads == 1);
  while (e.metrics().outdated != 0) std::this_thread::yield();
  e.drain();
  REQUIRE(e.submit([] { throw std::runtime_error("reported"); }) == submit_result::accepted);
  e.drain();
  CHECK(e.metrics().failed == 1);
}

TEST_CASE("apply: the new policy places the next task") {
  profile p = small_profile(4);
  p.steal.policy = "none";
  p.dispatch.policy = "lightest";
  engine e(p);
  p.dispatch.policy = "round_robin";
  CHECK(e.apply(p).applied());
  CHECK(workers_of(e, 4) == std::set<std::uint32_t>{0, 1, 2, 3});
}

TEST_CASE("apply: a profile that needs a restart is refused as a whole, with each such key and the reason") {
  engine e(small_profile(2));
  profile p = small_profile(3);
  p.name = "another";
  p.dispatch.policy = "random";
  p.topology.groups.group_by = domain_kind::package;
  p.queues.discipline = discipline::volt;
  p.queues.local = 64;
  p.queues.inbox = 2;
  p.injection.scope = injection_scope::engine;
  p.workers.memory = memory_on::anywhere;
  p.workers.pin = pin_to::core;
  p.limits.in_flight = 10;
  const apply_result answer = e.apply(p);
  CHECK_FALSE(answer.applied());
  std::set<std::string> keys;
  for (const auto& r : answer.refused) {
    keys.insert(r.key);
    CHECK_FALSE(r.why.empty());
  }
  CAPTURE(answer.to_text());
  CHECK(keys == std::set<std::string>{"topology.group_by", "queues.discipline", "queues.local",
                                      "queues.inbox", "injection.scope", "workers.memory", "workers.pin",
                                      "limits.in_flight", "workers.total"});
  CHECK(answer.to_text().find("queues.local: found \"64\"; the engine runs with \"256\" until a restart\n") !=
        std::string::npos);
  CHECK(e.configuration().name == "default");
  CHECK(e.configuration().dispatch.policy == "nearest_lightest");
  CHECK(e.metrics().reloads == 0);
  CHECK(active_workers(e) == 2);
}

TEST_CASE("apply: an invalid profile is an error that lists all of its errors, and nothing changes") {
  engine e(small_profile(2));
  profile p = small_profile(1);
  p.dispatch.policy = "best";
  p.queues.inbox.reset();
  try {
    static_cast<void>(e.apply(p));
    FAIL("it was taken");
  } catch (const profile_error& error) {
    CHECK(error.issues().size() == 2);
  }
  CHECK(active_workers(e) == 2);
  CHECK(e.configuration().dispatch.policy == "nearest_lightest");
}

TEST_CASE("apply: an engine that is shutting down refuses") {
  engine e(small_profile(1));
  CHECK(e.shutdown(std::chrono::seconds{60}).clean());
  const apply_result answer = e.apply(small_profile(1));
  REQUIRE(answer.refused.size() == 1);
  CHECK(answer.refused.front().key.empty());
}

TEST_CASE("apply: a task may call it") {
  engine e(small_profile(4));
  for (const std::uint32_t workers : {1U, 4U, 2U}) {
    REQUIRE(e.submit([&] { CHECK(e.apply(small_profile(workers)).applied()); }) == submit_result::accepted);
    e.drain();
    CHECK(active_workers(e) == workers);
  }
}

TEST_CASE("apply: a limit may change or vanish, and submitters that wait for room go on") {
  profile p = small_profile(2);
  p.limits.in_flight = 1;
  p.limits.on_full = full_action::wait;
  engine e(p);
  gate held;
  REQUIRE(e.submit([&] { held.pass(); }) == submit_result::accepted);
  std::thread waiting([&] { CHECK(e.submit([&] { held.pass(); }) == submit_result::accepted); });
  p.limits.in_flight = 2;
  CHECK(e.apply(p).applied());
  waiting.join();
  p.limits.on_full = full_action::reject;
  CHECK(e.apply(p).applied());
  CHECK(e.submit([] {}) == submit_result::full);
  p.limits.in_flight = 0;
  CHECK(e.apply(p).applied());
  CHECK(e.submit([] {}) == submit_result::accepted);
  held.open();
  e.drain();
}

TEST_CASE("apply: newly allowed spare threads take over seats that are blocked already") {
  profile p = small_profile(1);
  p.blocking.spares_max = 0;
  engine e(p);
  gate held;
  REQUIRE(e.submit([&] { blocking([&] { held.pass(); }); }) == submit_result::accepted);
  held.wait_for(1);
  gate ran;
  REQUIRE(e.submit([&] { ran.pass(); }) == submit_result::accepted);
  p.blocking.spares_max = 1;
  CHECK(e.apply(p).applied());
  ran.wait_for(1);
  ran.open();
  held.open();
  e.drain();
}

TEST_CASE("apply: several threads may call it at once") {
  engine e(small_profile(4));
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (std::uint32_t i = 0; i < 50; ++i) {
        CHECK(e.apply(small_profile(1 + (i + t) % 4)).applied());
        CHECK(e.submit([] {}) == submit_result::accepted);
      }
    });
  for (std::thread& t : threads) t.join();
  e.drain();
  CHECK(e.metrics().reloads == 200);
  const std::uint64_t active = active_workers(e);
  CHECK(active == e.configuration().workers.total);
}

TEST_CASE("apply: a thread's tasks keep their order, although a policy that injects came and went") {
  profile by_load = small_profile(1);
  by_load.queues.inbox = 2;
  profile injecting = by_load;
  injecting.dispatch.policy = "global_queue";
  std::vector<int> order;
  gate held;
  engine e(by_load);
  REQUIRE(e.submit([&] { held.pass(); }) == submit_result::accepted);
  held.wait_for(1);
  int next = 0;
  const auto submit = [&](const profile& by, int tasks) {
    REQUIRE(e.apply(by).applied());
    for (int i = 0; i < tasks; ++i, ++next) {
      struct told {
        std::vector<int>* order;
        int number;
        void operator()() const { order->push_back(number); }
      };
      REQUIRE(e.submit(told{&order, next}) == submit_result::accepted);
    }
  };
  submit(by_load, 5); // two of them go into the inbox
  submit(injecting, 2);
  submit(by_load, 2);
  CHECK(e.metrics().injected == 7);
  held.open();
  e.drain();
  CHECK(order.size() == 9);
  std::erase_if(order, [](int number) { return number < 2; }); // the two of the inbox may come anywhere
  CHECK(std::ranges::is_sorted(order));
}
