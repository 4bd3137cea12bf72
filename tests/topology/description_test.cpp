#include <corewise/topology/discovery.hpp>
#include <corewise/topology/error.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

using namespace corewise;

namespace {

/// Two sockets of four cores with SMT: CPUs 0-7 and 8-15, nodes 0 and 1.
machine_description two_sockets() {
  machine_description description;
  description.source = synthetic_source{"pack:2 numa:1 l3:1 core:4 pu:2"};
  return description;
}

machine_description made(const std::string& machine) {
  machine_description description;
  description.source = xml_source{std::filesystem::path(COREWISE_TEST_MACHINES) / (machine + ".xml")};
  return description;
}

cpu_set cpus(const std::string& list) { return *cpu_set::parse(list); }

bool has_warning(const topology& machine, const std::string& part) {
  return std::ranges::any_of(machine.warnings(),
                             [&](const std::string& w) { return w.find(part) != std::string::npos; });
}

void check_kind(const core_kind& kind, const std::string& name, const std::string& list,
                std::uint32_t capacity) {
  CHECK(kind.name == name);
  CHECK(kind.cpus.to_string() == list);
  CHECK(kind.capacity == capacity);
}

} // namespace

TEST_CASE("kinds by hand: they replace the discovered ones and are not merged") {
  auto description = two_sockets();
  description.kinds = {{cpus("0-3,8-11"), "P", 1024}, {cpus("4-7,12-15"), "E", 1000}};
  const auto machine = discover(description);
  REQUIRE(machine.kinds().size() == 2);
  check_kind(machine.kinds()[0], "E", "4-7,12-15", 1000);
  check_kind(machine.kinds()[1], "P", "0-3,8-11", 1024);
  CHECK(machine.kinds()[0].source == "profile");
  CHECK(machine.warnings().empty());
  CHECK(machine.cores()[0].kind == 1);
  CHECK(machine.cores()[2].kind == 0);
}

TEST_CASE("kinds by hand: a kind without a capacity has the discovered one") {
  auto description = made("kinds_by_type");
  description.kinds = {{cpus("0-3"), "fast", {}}, {cpus("4,6"), "slow", {}}};
  const auto machine = discover(description);
  check_kind(machine.kinds()[0], "slow", "4,6", 614);
  CHECK(machine.kinds()[0].source == "core type, assumed");
  check_kind(machine.kinds()[1], "fast", "0-3", 1024);
}

TEST_CASE("kinds by hand: CPUs in no kind join the only one") {
  auto description = two_sockets();
  description.kinds = {{cpus("0-7"), "P", 1024}};
  const auto machine = discover(description);
  REQUIRE(machine.kinds().size() == 1);
  check_kind(machine.kinds()[0], "P", "0-15", 1024);
  CHECK(has_warning(machine, "CPUs 8-15 are in no kind"));
}

TEST_CASE("kinds by hand: CPUs in no kind join the nearest kind by speed") {
  auto description = made("low_power_island"); // 0-3 at 1024, 4-5 at 486, 6-7 at 320
  description.kinds = {{cpus("0-3"), "P", 1024}, {cpus("4-5"), "E", 500}};
  const auto machine = discover(description);
  check_kind(machine.kinds()[0], "E", "4-7", 500);
  CHECK(has_warning(machine, "CPUs 6-7 are in no kind"));
}

TEST_CASE("kinds by hand: without known speeds, CPUs in no kind join the most common kind of their package") {
  auto description = two_sockets();
  description.kinds = {{cpus("0-1,8-13"), "A", 1024}, {cpus("2-5"), "B", 600}};
  const auto machine = discover(description);
  check_kind(machine.kinds()[0], "B", "2-7", 600);
  check_kind(machine.kinds()[1], "A", "0-1,8-15", 1024);
}

TEST_CASE("kinds by hand: a core that they cut follows its fastest CPU") {
  auto description = two_sockets();
  description.kinds = {{cpus("0-2,8-15"), "P", 1024}, {cpus("3-7"), "E", 500}};
  const auto machine = discover(description);
  check_kind(machine.kinds()[0], "E", "4-7", 500);
  check_kind(machine.kinds()[1], "P", "0-3,8-15", 1024);
  CHECK(has_warning(machine, "CPUs 3 follow the other CPUs of their cores"));
}

TEST_CASE("kinds by hand: the fastest kind is scaled to 1024, with a warning") {
  auto description = two_sockets();
  description.kinds = {{cpus("0-7"), "P", 512}, {cpus("8-15"), "E", 256}};
  const auto machine = discover(description);
  check_kind(machine.kinds()[0], "E", "8-15", 512);
  check_kind(machine.kinds()[1], "P", "0-7", 1024);
  CHECK(has_warning(machine, "scaled"));
}

TEST_CASE("kinds by hand: CPUs that the machine does not have are left out") {
  auto description = two_sockets();
  description.kinds = {{cpus("0-7,100-200"), "P", 1024}, {cpus("8-15"), "E", 512}, {cpus("300"), "X", 100}};
  const auto machine = discover(description);
  REQUIRE(machine.kinds().size() == 2);
  check_kind(machine.kinds()[1], "P", "0-7", 1024);
  CHECK(has_warning(machine, "X has no CPU"));
  description.kinds = {{cpus("300"), "X", 100}};
  CHECK_THROWS_WITH_AS(discover(description), doctest::Contains("this machine, which has 0-15"),
                       topology_error);
}

TEST_CASE("kinds by hand: contradictions are errors that name them") {
  auto description = two_sockets();
  description.kinds = {{cpus("0-7"), "P", {}}, {cpus("6-15"), "E", {}}};
  CHECK_THROWS_WITH_AS(discover(description),
                       doctest::Contains("CPUs 6-7 of kind E are already in another kind"), topology_error);
  description.kinds = {{cpus("0-7"), "P", {}}, {cpus("8-15"), "P", {}}};
  CHECK_THROWS_WITH_AS(discover(description), doctest::Contains("P is described twice"), topology_error);
  description.kinds = {{cpus("0-7"), "", {}}};
  CHECK_THROWS_WITH_AS(discover(description), doctest::Contains("needs a name"), topology_error);
  for (const auto capacity : {0U, 1025U}) {
    description.kinds = {{cpus("0-15"), "P", capacity}};
    CHECK_THROWS_WITH_AS(discover(description), doctest::Contains("out of range"), topology_error);
  }
}

TEST_CASE("capacities: those of a profile win, and may reverse the ranks") {
  auto description = made("kinds_by_type");
  description.capacities = {{"E", 700}};
  CHECK(discover(description).kinds()[0].capacity == 700);
  CHECK(discover(description).kinds()[0].source == "profile");
  CHECK(discover(description).kinds()[1].source == "core type, assumed");
  description.capacities = {{"E", 1024}, {"P", 512}};
  check_kind(discover(description).kinds()[0], "P", "0-3", 512);
  description.capacities = {{"E", 100}, {"P", 200}};
  const auto machine = discover(description);
  check_kind(machine.kinds()[0], "E", "4,6", 512);
  check_kind(machine.kinds()[1], "P", "0-3", 1024);
  CHECK(has_warning(machine, "scaled"));
}

TEST_CASE("capacities: a missing kind is an error that names the existing ones") {
  auto description = made("kinds_by_type");
  description.capacities = {{"big", 700}};
  CHECK_THROWS_WITH_AS(discover(description), doctest::Contains("no kind big; this machine has P, E"),
                       topology_error);
  description.capacities = {{"P", 0}};
  CHECK_THROWS_WITH_AS(discover(description), doctest::Contains("out of range"), topology_error);
}

TEST_CASE("distances by hand: they replace the discovered ones, in the nodes' order") {
  auto description = made("sparse_nodes_out_of_order");
  description.distances = {{10, 11, 12, 13}, {14, 10, 15, 16}, {17, 18, 10, 19}, {20, 21, 22, 10}};
  const auto machine = discover(description);
  CHECK(machine.distances()->nodes == std::vector<std::uint32_t>{0, 5, 33, 72});
  CHECK(machine.distance(0, 3) == 13);
  CHECK(machine.distance(3, 0) == 20);
}

TEST_CASE("distances by hand: a matrix that does not fit is an error") {
  auto description = two_sockets();
  description.distances = {{10, 20, 30}, {20, 10, 30}, {30, 20, 10}};
  CHECK_THROWS_WITH_AS(discover(description), doctest::Contains("there are 3 rows; 2 rows of 2"),
                       topology_error);
  description.distances = {{10, 20}, {20}};
  CHECK_THROWS_WITH_AS(discover(description), doctest::Contains("row 1 has 1 numbers"), topology_error);
  description.distances = {{10, 0}, {20, 10}};
  CHECK_THROWS_WITH_AS(discover(description), doctest::Contains("row 0 has a 0"), topology_error);
}

TEST_CASE("use: packages, nodes, kinds and CPUs are intersected, and then the reserve is removed") {
  auto description = two_sockets();
  description.use.packages = {1};
  CHECK(discover(description).cpus().to_string() == "8-15");
  description.use.cpus = cpus("6-9");
  CHECK(discover(description).cpus().to_string() == "8-9");
  description.use.reserve = cpus("8");
  const auto machine = discover(description);
  CHECK(machine.cpus().to_string() == "9");
  REQUIRE(machine.packages().size() == 1);
  CHECK(machine.packages()[0].cpus.to_string() == "9");
  CHECK(machine.llcs().size() == 1);
  CHECK(machine.cores().size() == 1);
  CHECK(machine.nodes().size() == 2); // memory stays where it is
  description.use = {};
  description.use.nodes = {0};
  CHECK(discover(description).cpus().to_string() == "0-7");
}

TEST_CASE("use: a kind that is left alone has the full capacity") {
  auto description = made("kinds_by_type");
  description.use.kinds = {"E"};
  const auto machine = discover(description);
  REQUIRE(machine.kinds().size() == 1);
  check_kind(machine.kinds()[0], "E", "4,6", 1024);
  CHECK(machine.kinds()[0].source == "one kind");
}

TEST_CASE("use: a missing part is an error that names the existing ones") {
  const auto refuses = [](auto change, const char* because) {
    auto description = two_sockets();
    change(description.use);
    CHECK_THROWS_WITH_AS(discover(description), doctest::Contains(because), topology_error);
  };
  using selection = machine_description::selection;
  refuses([](selection& use) { use.packages = {0, 2}; }, "no package 2; usable here: 0, 1");
  refuses([](selection& use) { use.nodes = {7}; }, "no NUMA node 7; this machine has 0, 1");
  refuses([](selection& use) { use.kinds = {"P"}; }, "no kind P; this machine has core");
  refuses([](selection& use) { use.cpus = cpus("16-17"); }, "leaves no CPU; usable here: 0-15");
  refuses([](selection& use) { use.reserve = cpus("0-15"); }, "leaves no CPU");
  refuses([](selection& use) { use.cpus = cpu_set(); }, "leaves no CPU");
}

TEST_CASE("use: CPUs that are not there are left out, with a warning, and reserved ones without") {
  auto description = two_sockets();
  description.use.cpus = cpus("14-17,40");
  const auto machine = discover(description);
  CHECK(machine.cpus().to_string() == "14-15");
  REQUIRE(machine.warnings().size() == 1);
  CHECK(machine.warnings()[0] ==
        "topology.use.cpus: CPUs 16-17,40 are absent, offline or not allowed, and are left "
        "out; usable here: 0-15");
  description.use.cpus.reset();
  description.use.reserve = cpus("0,32");
  const auto reserved = discover(description);
  CHECK(reserved.cpus().to_string() == "1-15");
  CHECK(reserved.warnings().empty());
}
