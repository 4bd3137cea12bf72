// A collection of real machines, which is not part of this project. Where it is present, the test tries every
// file in it.

#include <corewise/topology/discovery.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

using namespace corewise;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

fs::path collection() {
  if (const auto* folder = std::getenv("COREWISE_TOPOLOGIES")) return folder;
  return fs::path(COREWISE_TEST_ROOT).parent_path() / "shared" / "topologies";
}

std::string text(const json& value) { return value.is_null() ? "" : value.get<std::string>(); }

using named_sets = std::multiset<std::pair<std::string, std::string>>;

/// Returns the number as text. An unknown number is null in the collection, or -1 in some places.
std::string number(const json& value) {
  return value.is_number() && value.get<long>() >= 0 ? std::to_string(value.get<long>()) : "null";
}

void check_packages(const topology& machine, const json& expected) {
  named_sets wanted;
  named_sets found;
  for (const auto& p : expected["packages"])
    if (!text(p["pus"]).empty()) wanted.emplace(number(p["os_index"]), text(p["pus"]));
  for (const auto& p : machine.packages())
    found.emplace(p.id ? std::to_string(*p.id) : "null", p.cpus.to_string());
  CHECK(found == wanted);
}

void check_nodes(const topology& machine, const json& expected) {
  named_sets wanted;
  named_sets found;
  for (const auto& n : expected["numa_nodes"])
    wanted.emplace(number(n["os_index"]) + "/" + std::to_string(n["memory"].get<std::uint64_t>()),
                   text(n["pus"]));
  for (const auto& n : machine.nodes())
    found.emplace(std::to_string(n.os_index) + "/" + std::to_string(n.memory_bytes), n.cpus.to_string());
  CHECK(found == wanted);
  CHECK(std::ranges::is_sorted(machine.nodes(), {}, &numa_node::os_index));
}

/// Checks that each CPU that lies in a node has a home node that contains it, and that the other CPUs have
/// none.
void check_homes(const topology& machine, const json& expected) {
  cpu_set homes;
  for (const auto& n : machine.nodes()) {
    CHECK(n.home_cpus.is_subset_of(n.cpus));
    homes |= n.home_cpus;
  }
  CHECK((machine.cpus() - homes).to_string() == text(expected["pus_in_no_numa_node"]));
}

void check_caches(const topology& machine, const json& expected) {
  named_sets wanted;
  named_sets found;
  for (const auto& l : expected["llc_groups"])
    if (!l["level"].is_null()) wanted.emplace(number(l["level"]), text(l["pus"]));
  for (const auto& l : machine.llcs()) found.emplace(std::to_string(l.level), l.cpus.to_string());
  CHECK(found == wanted);
}

void check_cores(const topology& machine, const json& expected) {
  std::multiset<std::string> wanted;
  for (const auto& c : expected["cores"])
    if (!text(c).empty()) wanted.insert(text(c));
  for (const auto cpu : cpu_set::parse(text(expected["pus_without_core"]))->to_vector())
    wanted.insert(std::to_string(cpu));
  std::multiset<std::string> found;
  for (const auto& c : machine.cores()) found.insert(c.cpus.to_string());
  CHECK(found == wanted);
}

void check_smt(const topology& machine, const json& expected) {
  std::map<std::string, int> found;
  const auto bare = *cpu_set::parse(text(expected["pus_without_core"]));
  for (const auto& c : machine.cores())
    if (!c.cpus.intersects(bare)) ++found[std::to_string(c.cpus.size())];
  CHECK(json(found) == (expected["smt"].is_null() ? json::object() : expected["smt"]));
}

using matrix_by_node = std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t>;

matrix_by_node by_node(const std::vector<std::uint32_t>& nodes,
                       const std::vector<std::vector<std::uint32_t>>& matrix) {
  matrix_by_node values;
  for (std::size_t from = 0; from < nodes.size(); ++from)
    for (std::size_t to = 0; to < nodes.size(); ++to)
      values[{nodes[from], nodes[to]}] = matrix.at(from).at(to);
  return values;
}

void check_distances(const topology& machine, const json& expected) {
  const auto& latency = expected["numa_latency"];
  REQUIRE(machine.distances().has_value() == !latency.is_null());
  if (latency.is_null()) return;
  const auto& found = *machine.distances();
  const bool same = by_node(found.nodes, found.matrix) == by_node(latency["nodes"], latency["values"]);
  CHECK(same);
  CHECK(std::ranges::is_sorted(found.nodes));
}

struct merged_kind {
  std::string name;
  std::string cpus;
  std::uint32_t capacity;

  bool operator==(const merged_kind&) const = default;
};

/// The machines of the collection with more than one kind after merging; all others have one.
const std::map<std::string, std::vector<merged_kind>> merged{
    {"20em64t-hybrid-1p6c2t_2ca4co1t", {{"E", "12-19", 799}, {"P", "0-11", 1024}}},
    {"Intel-RaptorLake-Corei7-1370P", {{"E", "12-19", 614}, {"P", "0-11", 1024}}},
    {"nvidia-dgx-gb10", {{"LITTLE", "0-4,10-14", 731}, {"big", "5-9,15-19", 1024}}},
    {"nvidia-dgx-gb10.hwloc3", {{"LITTLE", "0-4,10-14", 737}, {"big", "5-9,15-19", 1024}}},
    {"fakeheterocpunuma", {{"E", "0-11", 234}, {"P", "12-23", 1024}}},
};

void check_kinds(const topology& machine, const std::string& name) {
  std::vector<merged_kind> wanted{{"core", machine.cpus().to_string(), 1024}};
  if (const auto known = merged.find(name); known != merged.end()) wanted = known->second;
  std::vector<merged_kind> found;
  for (const auto& kind : machine.kinds()) found.push_back({kind.name, kind.cpus.to_string(), kind.capacity});
  const bool same = found == wanted;
  CHECK(same);
}

void check_machine(const fs::path& file, const json& expected, const std::string& name) {
  machine_description description;
  description.source = xml_source{file};
  const auto machine = discover(description);
  CHECK(machine.cpus().to_string() == text(expected["pus"]));
  check_packages(machine, expected);
  check_nodes(machine, expected);
  check_homes(machine, expected);
  check_caches(machine, expected);
  check_cores(machine, expected);
  check_smt(machine, expected);
  check_distances(machine, expected);
  check_kinds(machine, name);
}

/// Returns the file with the facts that hwloc's default flags give. `X.disallowed` was written with the CPUs
/// that are not allowed, too; default flags leave them out, so its facts are those of `X`.
fs::path expectation_of(const fs::path& folder, std::string name) {
  constexpr std::string_view suffix = ".disallowed";
  if (name.ends_with(suffix)) name.resize(name.size() - suffix.size());
  return folder / (name + ".expected.json");
}

} // namespace

TEST_CASE("known machines: every machine of the collection gives the facts written beside it") {
  const auto folder = collection();
  if (!fs::is_directory(folder)) {
    MESSAGE("skipped: the collection of known machines is not at " << folder.string());
    return;
  }
  std::size_t tried = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".xml") continue;
    const auto name = entry.path().stem().string();
    CAPTURE(name);
    std::ifstream in(expectation_of(folder, name));
    REQUIRE(in);
    check_machine(entry.path(), json::parse(in), name);
    ++tried;
  }
  CHECK(tried > 0);
}
