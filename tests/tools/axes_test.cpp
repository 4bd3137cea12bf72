#include "shell.hpp"

#include <doctest/doctest.h>

using namespace corewise::tests;

TEST_CASE("corewise run WORKLOAD: every operation is counted, and the figures are plausible") {
  for (const std::string workload : {"ping-pong", "chained-fork", "fork-many", "yield-many"})
    for (const std::string workers : {"1", "3"}) {
      CAPTURE(workload);
      CAPTURE(workers);
      const outcome o = run("corewise run " + workload + " --rounds 3 --format json --workers " + workers);
      REQUIRE(o.status == 0);
      const auto answer = nlohmann::json::parse(o.out);
      CHECK(keys_of(answer) == std::set<std::string>{"workload", "profile", "workers", "unit", "median",
                                                     "p10", "p90", "rounds", "ops", "wall_ns", "tasks_run",
                                                     "checksum"});
      CHECK(answer["workload"] == workload);
      CHECK(answer["profile"] == "default");
      CHECK(answer["workers"] == std::stoi(workers));
      CHECK(answer["unit"] == "ns/op");
      CHECK(answer["rounds"] == 3);
      CHECK(answer["ops"] > 0);
      CHECK(answer["checksum"] == answer["ops"]);
      CHECK(answer["tasks_run"] > answer["ops"]); // the warm-up as well
      CHECK(answer["wall_ns"] >= 150'000'000);
      CHECK(answer["p10"] <= answer["median"]);
      CHECK(answer["median"] <= answer["p90"]);
      const double average = answer["wall_ns"].get<double>() / answer["ops"].get<double>();
      CHECK(answer["p10"] <= average);
    }
}

TEST_CASE("corewise run WORKLOAD: a profile's limit of tasks in flight does not stop it") {
  const scratch_shell shell;
  shell.write("small.yaml", "version: 1\nname: small\nlimits: {in_flight: 3}\n");
  const outcome o = shell.run("corewise run fork-many --rounds 1 --profile small.yaml");
  CHECK(o.status == 0);
  CHECK(contains(o.out, "fork-many, profile small, "));
}
