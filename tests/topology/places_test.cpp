#include "places.hpp"

#include <doctest/doctest.h>

using namespace corewise;
using detail::machine_scan;
using detail::place_nodes;
using detail::scanned_node;

namespace {

constexpr std::uint64_t some_memory = 1 << 20;

cpu_set cpus(const char* list) { return *cpu_set::parse(list); }

machine_scan machine_with(std::vector<scanned_node> nodes) {
  machine_scan scan;
  scan.cpus = cpus("0-3");
  scan.nodes = std::move(nodes);
  return scan;
}

std::vector<std::string> homes(const machine_scan& scan) {
  std::vector<std::string> lists;
  for (const auto& node : place_nodes(scan)) lists.push_back(node.home_cpus.to_string());
  return lists;
}

using lists = std::vector<std::string>;

} // namespace

TEST_CASE("home nodes: the smallest node that contains a CPU is its home") {
  CHECK(homes(machine_with({{0, cpus("0-3"), some_memory, false}, {1, cpus("2-3"), some_memory, false}})) ==
        lists{"0-1", "2-3"});
}

TEST_CASE("home nodes: ordinary memory comes before special memory, even if that is nearer") {
  CHECK(homes(machine_with({{0, cpus("0-1"), some_memory, true}, {7, cpus("0-3"), some_memory, false}})) ==
        lists{"", "0-3"});
}

TEST_CASE("home nodes: special memory is home if there is no other") {
  CHECK(homes(machine_with({{0, cpus("0-1"), some_memory, true}, {1, cpus("2-3"), some_memory, false}})) ==
        lists{"0-1", "2-3"});
}

TEST_CASE("home nodes: a node with memory comes before one without, and then the lowest number") {
  CHECK(homes(machine_with({{0, cpus("0-3"), 0, false}, {1, cpus("0-3"), some_memory, false}})) ==
        lists{"", "0-3"});
  CHECK(homes(machine_with({{4, cpus("0-3"), some_memory, false}, {9, cpus("0-3"), some_memory, false}})) ==
        lists{"0-3", ""});
}

TEST_CASE("home nodes: the kernel's statement about the home of a CPU counts") {
  auto scan = machine_with({{0, cpus("0-3"), some_memory, false}, {1, cpus("0-3"), some_memory, false}});
  scan.kernel_node_cpus = {{}, cpus("1-2,9")};
  CHECK(homes(scan) == lists{"0,3", "1-2"});
}

TEST_CASE("home nodes: CPUs in no node have no home") {
  CHECK(homes(machine_with({{0, cpus("1-2"), some_memory, false}, {1, {}, some_memory, false}})) ==
        lists{"1-2", ""});
  CHECK(homes(machine_with({})).empty());
}
