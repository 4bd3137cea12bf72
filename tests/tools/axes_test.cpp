#include "shell.hpp"

#include <doctest/doctest.h>

using namespace corewise::tests;

TEST_CASE("corewise run WORKLOAD: every operation is counted, and the figures are plausible") {
  for (const std::string workload :
       {"ping-pong", "ping-pong-halves", "chained-fork", "fork-many", "yield-many"})
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

TEST_CASE("corewise run WORKLOAD: CPUs that are not there are a warning, and an error of a strict profile") {
  const scratch_shell shell;
  const std::string use = "version: 1\ntopology: {use: {cpus: 0-65535, reserve: \"65535\"}}\n";
  shell.write("here.yaml", use);
  shell.write("strict.yaml", use + "strict: true\n");
  shell.write("reserve.yaml", "version: 1\ntopology: {use: {reserve: \"65535\"}}\n");
  const outcome warned = shell.run("corewise run yield-many --rounds 1 --workers 1 --profile here.yaml");
  CHECK(warned.status == 0);
  CHECK(contains(warned.err, "warning: topology.use.cpus: CPUs "));
  CHECK(contains(warned.err, "-65535 are absent, offline or not allowed"));
  const outcome refused = shell.run("corewise run yield-many --rounds 1 --workers 1 --profile strict.yaml");
  CHECK(refused.status == 1);
  CHECK(contains(refused.err, "the profile is strict"));
  CHECK(contains(refused.err, "topology.use.cpus: CPUs "));
  const outcome silent = shell.run("corewise run yield-many --rounds 1 --workers 1 --profile reserve.yaml");
  CHECK(silent.status == 0);
  CHECK(!contains(silent.err, "reserve"));
}
