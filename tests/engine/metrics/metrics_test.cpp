#include "small_engine.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace corewise;

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
