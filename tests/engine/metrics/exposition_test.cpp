#include "small_engine.hpp"

#include <corewise/engine/profile_text.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>

using namespace corewise;

namespace {

/// Reads what a scraper reads: the metrics' types, and the value of each series.
struct scraped {
  explicit scraped(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string hash, what, name, rest;
      if (line.rfind("# ", 0) == 0) {
        words >> hash >> what >> name >> rest;
        if (what == "TYPE") CHECK_MESSAGE(types.emplace(name, rest).second, line);
        if (what == "EOF") CHECK(lines.peek() == EOF);
        continue;
      }
      const std::size_t space = line.rfind(' ');
      if (!series.emplace(line.substr(0, space), std::stod(line.substr(space))).second)
        FAIL_CHECK(line); // twice
    }
  }
  /// Returns the sum of the series of a metric.
  double sum(const std::string& name) const {
    double all = 0;
    for (const auto& [key, value] : series)
      if (key == name || key.rfind(name + "{", 0) == 0) all += value;
    return all;
  }

  std::map<std::string, std::string> types;
  std::map<std::string, double> series;
};

metrics_snapshot of_workers(std::uint32_t workers, std::uint32_t per_group) {
  metrics_snapshot m;
  for (std::uint32_t i = 0; i < workers; ++i) {
    worker_metrics w;
    w.worker = worker_id{i};
    w.group = group_id{i / per_group};
    w.executed = i;
    w.stolen[4] = 2;
    w.waited[0].counts[3] = 5;
    w.waited[1].counts[24] = 1;
    m.workers.push_back(w);
  }
  return m;
}

/// Adds I/O to each group.
void add_io(metrics_snapshot& m) {
  for (std::uint32_t g = 0; g <= m.workers.back().group.value; ++g) {
    io_metrics& io = m.io.emplace_back();
    io.group = group_id{g};
    io.driver = {.operations = 1, .polls = 2, .events = 3, .open = 4, .accepted = 10 + g, .refused = 5};
    io.ready_waited.counts[1] = 6;
  }
}

} // namespace

TEST_CASE("exposition: the sum over a label is the engine's number, in each detail") {
  const metrics_snapshot m = of_workers(8, 4);
  for (const auto of :
       {metrics_detail::automatic, metrics_detail::sums, metrics_detail::groups, metrics_detail::workers}) {
    const scraped seen(m.to_prometheus(of));
    CHECK(seen.sum("corewise_tasks_executed_total") == 28);
    CHECK(seen.sum("corewise_tasks_stolen_total") == 16);
    CHECK(seen.sum("corewise_task_wait_seconds_count") == 48);
    CHECK(seen.types.at("corewise_tasks_executed_total") == "counter");
    CHECK(seen.types.at("corewise_task_wait_seconds") == "histogram");
  }
  CHECK(scraped(m.to_prometheus()).series.count(R"(corewise_tasks_executed_total{group="1"})") == 1);
  CHECK(scraped(m.to_prometheus(metrics_detail::workers))
            .series.at(R"(corewise_tasks_stolen_total{group="1",worker="7",level="cross_package"})") == 2);
}

TEST_CASE("exposition: the counts of a histogram are those of all times below a bound") {
  const scraped seen(of_workers(1, 1).to_prometheus());
  const auto bucket = [&](const char* labels) {
    return seen.series.at(std::string("corewise_task_wait_seconds_bucket{") + labels + "}");
  };
  CHECK(bucket(R"(class="normal",le="4e-06")") == 0);
  CHECK(bucket(R"(class="normal",le="8e-06")") == 5);
  CHECK(bucket(R"(class="normal",le="8.388608")") == 5);
  CHECK(bucket(R"(class="latency",le="8.388608")") == 0);
  CHECK(bucket(R"(class="latency",le="+Inf")") == 1);
  CHECK(seen.series.count(R"(corewise_task_wait_seconds_count{class="background"})") == 0); // no such tasks
}

TEST_CASE("exposition: at most 500 series, also of 1,024 workers") {
  for (const std::uint32_t per_group : {1U, 8U, 128U, 147U, 171U, 205U, 256U, 342U, 512U, 1024U}) {
    metrics_snapshot m = of_workers(1024, per_group);
    m.profile_hash = "12345678";
    for (std::uint32_t g = 0; g <= m.workers.back().group.value; ++g) m.groups.push_back({group_id{g}, "P"});
    for (time_histogram& of_class : m.workers[0].waited) of_class.counts[2] = 1;
    for (time_histogram& of_class : m.workers[0].ran) of_class.counts[2] = 1;
    CHECK(scraped(m.to_prometheus()).series.size() <= 500);
    add_io(m);
    CHECK(scraped(m.to_prometheus()).series.size() <= 500);
    CHECK(scraped(m.to_prometheus()).sum("corewise_io_polls_total") == 2. * static_cast<double>(m.io.size()));
  }
  CHECK(scraped(of_workers(1024, 8).to_prometheus()).sum("corewise_tasks_executed_total") == 1024 * 1023 / 2);
  CHECK(scraped(of_workers(1024, 8).to_prometheus(metrics_detail::workers)).series.size() > 1024);
}

TEST_CASE("exposition: I/O is by group or summed, and an engine without drivers shows none") {
  metrics_snapshot m = of_workers(8, 4);
  m.engine = "without";
  for (const std::string& text :
       {m.to_prometheus(), m.to_openmetrics(metrics_detail::workers), m.to_text(), m.to_json(),
        m.to_json(metrics_detail::groups), m.to_json(metrics_detail::sums), to_prometheus({&m, 1})}) {
    CHECK(text.find("io_") == std::string::npos);
    CHECK(text.find("\"io\"") == std::string::npos);
  }
  metrics_snapshot with = m;
  with.engine = "";
  add_io(with);
  for (const auto of :
       {metrics_detail::automatic, metrics_detail::sums, metrics_detail::groups, metrics_detail::workers}) {
    const scraped seen(with.to_prometheus(of));
    CHECK(seen.sum("corewise_io_operations_waiting") == 2);
    CHECK(seen.sum("corewise_io_polls_total") == 4);
    CHECK(seen.sum("corewise_io_events_total") == 6);
    CHECK(seen.sum("corewise_io_connections_open") == 8);
    CHECK(seen.sum("corewise_io_connections_accepted_total") == 21);
    CHECK(seen.sum("corewise_io_connections_refused_total") == 10);
    CHECK(seen.sum("corewise_io_ready_wait_seconds_count") == 12);
    CHECK(seen.types.at("corewise_io_ready_wait_seconds") == "histogram");
    const bool summed = of == metrics_detail::sums;
    const char* const of_second = summed ? "corewise_io_connections_accepted_total"
                                         : R"(corewise_io_connections_accepted_total{group="1"})";
    CHECK(seen.series.at(of_second) == (summed ? 21 : 11));
  }
  CHECK(scraped(with.to_prometheus(metrics_detail::groups))
            .series.at(R"(corewise_io_ready_wait_seconds_count{group="1"})") == 6);
  CHECK(with.to_text().find("I/O of group 1\n") != std::string::npos);
  const auto groups = nlohmann::json::parse(with.to_json(metrics_detail::groups))["io"];
  REQUIRE(groups.size() == 2);
  CHECK(groups[1]["group"] == 1);
  CHECK(groups[1]["io_connections_accepted"] == 11);
  CHECK(groups[1]["io_ready_wait_seconds"]["counts"][1] == 6);
  CHECK(nlohmann::json::parse(with.to_json(metrics_detail::sums))["all_io"]["io_connections_open"] == 8);

  with.engine = "with";
  const metrics_snapshot both[] = {m, with};
  const scraped seen(to_prometheus(both));
  CHECK(seen.sum("corewise_io_connections_open") == 8);
  CHECK(seen.series.at(R"(corewise_io_connections_open{engine="with",group="1"})") == 4);
  for (const auto& [key, value] : seen.series)
    if (key.rfind("corewise_io_", 0) == 0) CHECK(key.find("without") == std::string::npos);
}

TEST_CASE("exposition: OpenMetrics names its counters without _total, and ends") {
  const std::string text = of_workers(2, 2).to_openmetrics();
  const scraped seen(text);
  CHECK(seen.types.at("corewise_tasks_executed") == "counter");
  CHECK(seen.types.at("corewise_build") == "info");
  CHECK(seen.sum("corewise_tasks_executed_total") == 1);
  CHECK(text.find("# UNIT corewise_busy_seconds seconds\n") != std::string::npos);
  CHECK(text.substr(text.size() - 6) == "# EOF\n");
}

TEST_CASE("metrics: a group has the name of its kind of core, and the capacity of its active workers") {
  profile p = parse_profile(R"(
topology:
  source: {synthetic: "core:4 pu:1"}
  kinds:
    - {cpus: 0-1, name: "big \"P\"", capacity: 1024}
    - {cpus: 2-3, name: E, capacity: 512}
workers: {per_group: 2, pin: none}
)");
  engine e(p);
  const scraped seen(e.metrics().to_prometheus());
  CHECK(seen.series.at(R"(corewise_capacity{group="0"})") == 2048);
  CHECK(seen.series.at(R"(corewise_capacity{group="1"})") == 1024);
  CHECK(seen.series.at(R"(corewise_group_info{group="0",kind="big \"P\""})") == 1);
  CHECK(seen.series.at(R"(corewise_group_info{group="1",kind="E"})") == 1);
  const scraped summed(e.metrics().to_prometheus(metrics_detail::sums));
  CHECK(summed.series.at(R"(corewise_capacity{kind="big \"P\""})") == 2048);
  CHECK(summed.series.at(R"(corewise_capacity{kind="E"})") == 1024);
  CHECK(summed.sum("corewise_capacity") == 3072);
  const auto groups = nlohmann::json::parse(e.metrics().to_json(metrics_detail::groups))["groups"];
  REQUIRE(groups.size() == 2);
  CHECK(groups[0]["kind"] == "big \"P\"");
  CHECK(groups[1]["workers_active"] == 2);
  CHECK(groups[1]["capacity"] == 1024);
  CHECK(groups[1]["task_wait_seconds"]["normal"]["counts"].size() == time_histogram::bounds + 1);
  const auto sums = nlohmann::json::parse(e.metrics().to_json(metrics_detail::sums));
  CHECK(sums["all_workers"]["capacity"] == 3072);
  CHECK(!sums.contains("groups"));

  p.workers.per_group = 1;
  REQUIRE(e.apply(p).applied());
  CHECK(scraped(e.metrics().to_prometheus()).sum("corewise_capacity") == 1024 + 512);
}

TEST_CASE("exposition: an engine's numbers stay when it takes another profile") {
  engine e(small_profile(2));
  for (int i = 0; i < 100; ++i) CHECK(e.submit([] {}) == submit_result::accepted);
  e.drain();
  CHECK(e.apply(small_profile(1)).applied());
  const scraped seen(e.metrics().to_prometheus());
  CHECK(seen.sum("corewise_tasks_executed_total") == 100);
  CHECK(seen.sum("corewise_tasks_finished_total") == 100);
  CHECK(seen.sum("corewise_profile_reloads_total") == 1);
}
