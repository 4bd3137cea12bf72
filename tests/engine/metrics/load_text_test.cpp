#include <corewise/engine/load.hpp>

#include <doctest/doctest.h>

#include <fstream>
#include <sstream>
#include <string>

using namespace corewise;
using namespace std::chrono_literals;

namespace {

load_report some_load() {
  load_report r;
  r.tasks_in_flight = 12;
  r.tasks_queued = 3;
  r.wait_p50 = 250us;
  r.expected_delay = 1.5;
  r.utilization = .75;
  r.cpu_utilization = .25;
  r.capacity = 4;
  r.effective_capacity = 2.5;
  r.window = 1s;
  r.requests =
      request_load{.in_flight = 6, .mean_in_flight = 6.5, .limit = 8, .latency = 2ms, .rps = 40.5, .eps = .5};
  return r;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

} // namespace

TEST_CASE("load: as lines and as JSON; what is not known is left out, or null") {
  const std::string text = some_load().to_text();
  for (const char* line :
       {"state=ok\n", "draining=false\n", "tasks_in_flight=12\n", "wait_p50_seconds=0.00025\n",
        "effective_capacity_cpus=2.5\n", "requests_in_flight=6\n", "requests_limit=8\n",
        "request_latency_seconds=0.002\n", "rps=40.5\n"})
    CHECK_MESSAGE(has(text, line), line);
  CHECK_FALSE(has(text, "wait_p99"));
  const std::string json = some_load().to_json();
  CHECK(json.front() == '{');
  CHECK(has(json, "\"wait_p99_seconds\":null"));
  CHECK(has(json, "\"utilization\":0.75"));
  CHECK_FALSE(has(load_report().to_text(), "request"));
}

TEST_CASE("load: as ORCA, in both forms that are readable") {
  CHECK(
      orca_text(some_load()) ==
      "TEXT cpu_utilization=0.25,application_utilization=0.75,rps_fractional=40.5,eps=0.5,"
      "named_metrics.in_flight=6,named_metrics.expected_delay=1.5,named_metrics.effective_capacity_cpus=2.5,"
      "named_metrics.wait_p50_seconds=0.00025,named_metrics.latency_seconds=0.002");
  CHECK(orca_json(some_load()) ==
        "JSON {\"cpu_utilization\":0.25,\"application_utilization\":0.75,\"rps_fractional\":40.5,\"eps\":0.5,"
        "\"named_metrics\":{\"in_flight\":6,\"expected_delay\":1.5,\"effective_capacity_cpus\":2.5,"
        "\"wait_p50_seconds\":0.00025,\"latency_seconds\":0.002}}");
  CHECK(has(orca_text(load_report()), "named_metrics.in_flight=0"));
  CHECK_FALSE(has(orca_text(load_report()), "rps"));
  CHECK_FALSE(has(orca_text(load_report()), "wait_p50"));
}

TEST_CASE("load: docs/load.md says what each figure means") {
  std::ifstream file(COREWISE_SOURCE_DIR "/docs/load.md");
  std::stringstream page;
  page << file.rdbuf();
  std::istringstream lines(some_load().to_text());
  std::string name;
  while (std::getline(lines, name, '=') && lines.ignore(1000, '\n'))
    CHECK_MESSAGE(has(page.str(), "| `" + name + "` |"), name);
}
