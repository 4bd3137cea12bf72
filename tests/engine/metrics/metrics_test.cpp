#include "small_engine.hpp"
#include "within.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <thread>

using namespace corewise;
using namespace std::chrono_literals;

TEST_CASE("metrics: at rest the counts balance, in text and JSON alike") {
  engine e(small_profile(3));
  for (int i = 0; i < 500; ++i)
    CHECK(e.submit([&] { static_cast<void>(e.submit([] {})); }) == submit_result::accepted);
  e.drain();
  const metrics_snapshot m = e.metrics();
  CHECK(m.workers.size() == 3);
  CHECK(m.submitted == 1000);
  CHECK(m.finished == 1000);
  CHECK(m.total().executed == 1000);
  CHECK(m.total().placed + m.total().injected >= 1000);
  const auto json = nlohmann::json::parse(m.to_json());
  CHECK(json["tasks_finished"] == 1000);
  CHECK(json["workers"].size() == 3);
  CHECK(json["workers"][2]["worker"] == 2);
  CHECK(json["workers"][0]["tasks_stolen"].contains("cross_package"));
  CHECK(m.to_text().find("tasks_in_flight") != std::string::npos);
}

TEST_CASE("metrics: busy time counts tasks, not waiting") {
  engine e(small_profile(1));
  CHECK(e.submit([] {
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds{20};
    while (std::chrono::steady_clock::now() < until) {
    }
  }) == submit_result::accepted);
  e.drain();
  CHECK(e.metrics().total().busy >= std::chrono::milliseconds{20});
}

TEST_CASE("metrics: the oldest queued task, and what a stuck one has run, are seen within 100 ms") {
  profile p = small_profile(1);
  p.blocking.stuck_after = 50ms;
  engine e(p);
  std::atomic<bool> open{false};
  (void)e.submit([&] {
    while (!open) std::this_thread::sleep_for(1ms);
  });
  (void)e.submit([] {}); // waits behind it
  CHECK(within(10s, [&] { return e.metrics().oldest_wait > 100ms; }));
  CHECK(within(10s, [&] { return e.metrics().total().stuck_for > 100ms; }));
  const auto before = e.metrics().oldest_wait;
  CHECK(within(10s, [&] { return e.metrics().oldest_wait > before; }));
  open = true;
  e.drain();
  CHECK(within(10s, [&] { return e.metrics().oldest_wait == 0ms; }));
  const auto stuck_for = e.metrics().total().stuck_for;
  (void)e.submit([] {});
  e.drain();
  CHECK(e.metrics().total().stuck_for == stuck_for);
}

TEST_CASE("metrics: a task that runs is not queued, and those behind it are") {
  engine e(small_profile(1));
  std::atomic<bool> begun{false};
  std::atomic<bool> open{false};
  (void)e.submit([&] {
    begun = true;
    while (!open) std::this_thread::sleep_for(1ms);
  });
  while (!begun) std::this_thread::sleep_for(1ms);
  for (int i = 0; i < 5; ++i) (void)e.submit([] {});
  metrics_snapshot m = e.metrics();
  CHECK(m.total().running == 1);
  const auto queued = nlohmann::json::parse(m.to_json())["tasks_queued"];
  CHECK(queued["workers"].get<int>() + queued["injection"].get<int>() == 5);
  open = true;
  e.drain();
  CHECK(within(10s, [&] { return e.metrics().total().running == 0; }));
  m = e.metrics();
  CHECK(nlohmann::json::parse(m.to_json())["tasks_queued"]["workers"] == 0);
}

TEST_CASE("metrics: the profile in force has a hash, and spare threads a limit") {
  profile p = small_profile(1);
  p.blocking.spares_max = 3;
  engine e(p);
  const metrics_snapshot before = e.metrics();
  CHECK(before.profile_hash.size() == 8);
  CHECK(before.spare_threads_max == 3);
  CHECK(before.to_prometheus().find("corewise_profile_info{hash=\"" + before.profile_hash +
                                    "\",source=\"\"} 1\n") != std::string::npos);
  p.blocking.spares_max = 4;
  p.source = "a \"b\"\n\\\xff\xc3\xa9"; // a path may have any bytes, a label only UTF-8
  REQUIRE(e.apply(p).applied());
  CHECK(e.metrics().to_prometheus().find("source=\"a \\\"b\\\"\\n\\\\?\xc3\xa9\"} 1\n") != std::string::npos);
  CHECK(e.metrics().profile_hash != before.profile_hash);
  CHECK(e.metrics().spare_threads_max == 4);
}

TEST_CASE("metrics: urgent tasks that slow cores run are counted, and no others") {
  for (const std::uint32_t slow : {500U, 1024U}) {
    CAPTURE(slow);
    const std::uint64_t expected = slow < 1024 ? 1 : 0;
    profile p = small_profile(2);
    auto& machine = p.topology.machine;
    machine.source = synthetic_source{"pack:1 numa:1 l3:1 core:2 pu:1"};
    machine.kinds = {{cpu_set::range(0, 0), "P", 1024}, {cpu_set::range(1, 1), "E", slow}};
    gate both;
    engine e(p);
    for (int i = 0; i < 2; ++i) CHECK(e.submit([&] { both.pass(); }, urgent) == submit_result::accepted);
    both.wait_for(2); // one on each worker
    both.open();
    e.drain();
    CHECK(e.submit([] {}, {.worker = worker_id{1}}) == submit_result::accepted); // it has no class
    e.drain();
    const metrics_snapshot m = e.metrics();
    CHECK(m.total().latency_runs == 2);
    CHECK(m.total().latency_runs_on_slow_cores == expected);
    const auto json = nlohmann::json::parse(m.to_json());
    for (const worker_metrics& w : m.workers) {
      CHECK(w.latency_runs_on_slow_cores == (e.groups()[w.group].capacity < 1024 ? 1U : 0U));
      CHECK(json["workers"][w.worker.value]["latency_tasks_on_slow_cores"] == w.latency_runs_on_slow_cores);
    }
  }
}
