#include <corewise/topology/discovery.hpp>
#include <corewise/topology/machine_json.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace corewise;

namespace {

machine_description described(const std::string& text) {
  machine_description d;
  d.source = synthetic_source{text};
  return d;
}

} // namespace

TEST_CASE("machine json: each worker is found by its group, and names are only text") {
  machine_description d = described("pack:2 numa:1 l3:2 core:2 pu:2");
  d.kinds = {{cpu_set::range(0, 3), "<script>\"", 1024}, {cpu_set::range(4, 15), "\xff", 512}};
  const topology machine = discover(d);
  const locality_groups groups(machine, {});
  const worker_layout workers(machine, groups, {});
  const auto seen = nlohmann::json::parse(machine_json(machine, groups, workers));
  CHECK(seen["kinds"][1]["name"] == "<script>\"");
  REQUIRE(seen["groups"].size() == groups.size());
  for (const worker_place& w : workers.workers()) {
    const auto& g = seen["groups"][w.group.value];
    CHECK(g["id"] == w.group.value);
    CHECK(g["worker_cpus"][w.id.value - g["first_worker"].get<std::uint32_t>()] == w.cpu);
  }
  CHECK(seen["levels"][0][groups.size() - 1] == static_cast<int>(level::cross_package));
  CHECK(seen["packages"].size() == 2);
}

TEST_CASE("machine json: a group without workers has none") {
  const topology machine = discover(described("pack:2 numa:1 l3:1 core:2 pu:1"));
  const locality_groups groups(machine, {});
  worker_options one;
  one.total = 1;
  const worker_layout workers(machine, groups, one);
  const auto seen = nlohmann::json::parse(machine_json(machine, groups, workers));
  CHECK(seen["groups"][1]["first_worker"].is_null());
  CHECK(seen["groups"][1]["worker_cpus"].empty());
}
