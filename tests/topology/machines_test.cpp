#include <corewise/topology/discovery.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>

using namespace corewise;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

json packages_of(const topology& machine) {
  auto list = json::array();
  for (const auto& p : machine.packages())
    list.push_back({{"id", p.id ? json(*p.id) : json()}, {"cpus", p.cpus.to_string()}});
  return list;
}

json nodes_of(const topology& machine) {
  auto list = json::array();
  for (const auto& n : machine.nodes())
    list.push_back({{"os_index", n.os_index},
                    {"cpus", n.cpus.to_string()},
                    {"home_cpus", n.home_cpus.to_string()},
                    {"memory_bytes", n.memory_bytes}});
  return list;
}

json llcs_of(const topology& machine) {
  auto list = json::array();
  for (const auto& l : machine.llcs()) list.push_back({{"level", l.level}, {"cpus", l.cpus.to_string()}});
  return list;
}

json cores_of(const topology& machine) {
  auto list = json::array();
  for (const auto& c : machine.cores()) list.push_back(c.cpus.to_string());
  return list;
}

json kinds_of(const topology& machine) {
  auto list = json::array();
  for (const auto& k : machine.kinds())
    list.push_back(
        {{"name", k.name}, {"cpus", k.cpus.to_string()}, {"capacity", k.capacity}, {"source", k.source}});
  return list;
}

json distances_of(const topology& machine) {
  if (!machine.distances()) return {};
  return {{"nodes", machine.distances()->nodes}, {"matrix", machine.distances()->matrix}};
}

json facts_of(const topology& machine) {
  return {{"cpus", machine.cpus().to_string()}, {"packages", packages_of(machine)},
          {"nodes", nodes_of(machine)},         {"llcs", llcs_of(machine)},
          {"cores", cores_of(machine)},         {"kinds", kinds_of(machine)},
          {"distances", distances_of(machine)}, {"warnings", machine.warnings().size()}};
}

std::vector<fs::path> machines() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(COREWISE_TEST_MACHINES))
    if (entry.path().extension() == ".xml") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

json expected_of(fs::path file) {
  std::ifstream in(file.replace_extension(".expected.json"));
  REQUIRE_MESSAGE(in, file);
  return json::parse(in);
}

topology discover_file(const fs::path& file) {
  machine_description description;
  description.source = xml_source{file};
  return discover(description);
}

/// Returns whether `place` is the part that contains the CPU; or, where no part contains it, whether there is
/// no place.
template <class Part>
bool is_place_of(std::optional<std::uint32_t> place, const std::vector<Part>& parts, cpu_set Part::* set,
                 std::uint32_t cpu) {
  if (place) return (parts[*place].*set).contains(cpu);
  return std::ranges::none_of(parts, [&](const Part& part) { return (part.*set).contains(cpu); });
}

void check_core_places(const topology& machine) {
  for (const auto& c : machine.cores()) {
    const auto cpu = c.cpus.first();
    CHECK(is_place_of(c.package, machine.packages(), &package::cpus, cpu));
    CHECK(is_place_of(c.node, machine.nodes(), &numa_node::home_cpus, cpu));
    CHECK(is_place_of(c.llc, machine.llcs(), &last_level_cache::cpus, cpu));
  }
}

} // namespace

TEST_CASE("machines: every machine of this folder gives the facts written beside it") {
  const auto files = machines();
  REQUIRE(files.size() >= 38);
  for (const auto& file : files) {
    CAPTURE(file.filename().string());
    const auto machine = discover_file(file);
    auto expected = expected_of(file);
    expected.erase("about");
    CHECK(facts_of(machine) == expected);
    CHECK_FALSE(machine.is_this_system());
    check_core_places(machine);
  }
}

TEST_CASE("machines: distances are looked up by the positions of nodes, not by their numbers") {
  const auto machine = discover_file(fs::path(COREWISE_TEST_MACHINES) / "sparse_nodes_out_of_order.xml");
  REQUIRE(machine.nodes()[3].os_index == 72);
  CHECK(machine.distance(3, 0) == 15);
  CHECK(machine.distance(0, 3) == 14);
}

TEST_CASE("machines: on a machine without distances 10 is local and 20 is remote") {
  const auto machine = discover_file(fs::path(COREWISE_TEST_MACHINES) / "no_packages_no_caches.xml");
  REQUIRE_FALSE(machine.distances().has_value());
  CHECK(machine.distance(0, 0) == 10);
  CHECK(machine.distance(0, 1) == 20);
}
