#include <corewise/engine/live_figures.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace corewise;

TEST_CASE("live figures: waiting times are by group, and other numbers have a place for each worker") {
  live_figures now;
  now.time = std::chrono::seconds{3};
  now.troubles = {"a sentence"};
  now.memory = {{.os_index = 4, .total_bytes = 100, .free_bytes = 60, .cache_bytes = 10}};
  now.metrics.submitted = 9;
  now.metrics.finished = 7;
  for (std::uint32_t i = 0; i < 3; ++i) {
    worker_metrics& w = now.metrics.workers.emplace_back();
    w.worker = worker_id{i};
    w.group = group_id{i / 2};
    w.load = 10 + i;
    w.busy = std::chrono::nanoseconds{i};
    w.stolen[4] = i;
    w.victims[4] = group_id{1 - i / 2};
    w.waited[0].counts[2] = 1;
    w.waited[1].counts[2] = 10;
    w.waited[2].counts[time_histogram::bounds] = i;
  }
  const auto seen = nlohmann::json::parse(now.to_json());
  CHECK(seen["time_ns"] == 3'000'000'000);
  CHECK(seen["health"] == "ok");
  CHECK(seen["troubles"] == nlohmann::json{"a sentence"});
  CHECK(seen["tasks"]["in_flight"] == 2);
  CHECK(seen["workers"]["load"] == nlohmann::json{10, 11, 12});
  CHECK(seen["workers"]["busy_ns"] == nlohmann::json{0, 1, 2});
  CHECK(seen["workers"]["stolen"]["cross_package"] == nlohmann::json{0, 1, 2});
  CHECK(seen["workers"]["stolen"]["same_group"] == nlohmann::json{0, 0, 0});
  CHECK(seen["workers"]["victims"]["cross_package"] == nlohmann::json{1, 1, 0});
  CHECK(seen["waiting_bounds_ns"].size() == time_histogram::bounds);
  REQUIRE(seen["waiting"].size() == 2);
  CHECK(seen["waiting"][0][2] == 22); // two workers, all classes
  CHECK(seen["waiting"][0][time_histogram::bounds] == 1);
  CHECK(seen["waiting"][1][2] == 11);
  CHECK(seen["memory"][0]["node"] == 4);
  CHECK(seen["memory"][0]["free_bytes"] == 60);
}
