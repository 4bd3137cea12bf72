// Tests of an engine whose memory nodes come and go, fed by a recorded machine. tests/emulated/change_check shows where the
// kernel then puts the memory.

#include "following.hpp"
#include "memory/near_nodes.hpp"
#include "memory/node_resource.hpp"
#include "topology/recorded_host.hpp"

#include <corewise/topology/discovery.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

using namespace corewise;
using namespace corewise::tests;

namespace {

using nodes_of_groups = std::vector<std::optional<std::uint32_t>>;

nodes_of_groups memory_of(const topology& machine, const char* with_memory) {
  return detail::memory_nodes(machine, locality_groups(machine, {}), cpu_set::parse(with_memory).value());
}

} // namespace

TEST_CASE("following memory: a group whose node has none takes it from the nearest one that has") {
  machine_description d;
  d.source = synthetic_source{"numa:4 core:2 pu:1"};
  d.distances = {{10, 20, 30, 40}, {20, 10, 20, 30}, {30, 20, 10, 20}, {40, 30, 20, 10}};
  const topology machine = discover(d);
  REQUIRE(machine.nodes().size() == 4);
  CHECK(memory_of(machine, "0-3") == nodes_of_groups{0, 1, 2, 3});
  CHECK(memory_of(machine, "") == nodes_of_groups{0, 1, 2, 3}); // not known
  CHECK(memory_of(machine, "0,3") == nodes_of_groups{0, 0, 3, 3});
  CHECK(memory_of(machine, "1,3") == nodes_of_groups{1, 1, 1, 3}); // of equally near ones the first
  CHECK(memory_of(machine, "7") == nodes_of_groups(4));
  CHECK(detail::nodes_with_memory(machine).to_string() == "0-3");
}

TEST_CASE("following memory: memory that was taken stays, and new memory comes from the other node") {
  detail::node_resource memory(0);
  auto* const before = static_cast<char*>(memory.allocate(100));
  std::fill_n(before, 100, 'a');
  memory.move_to(1);
  CHECK(memory.node() == 1);
  auto* const later =
      static_cast<char*>(memory.allocate(1 << 20)); // where there is no such node, from another
  std::fill_n(later, 1 << 20, 'b');
  CHECK(std::count(before, before + 100, 'a') == 100);
  memory.deallocate(before, 100);
  memory.deallocate(later, 1 << 20);
}

TEST_CASE("following memory: what a node loses holds at once, and what one gains is used again") {
  const recorded_host host(4);
  host.two_nodes(4);
  engine e(waiting(host));
  begin_supervisor(e);
  REQUIRE(e.groups().size() == 2);
  CHECK_FALSE(e.refresh());
  host.memory("0");
  const std::optional<machine_change> lost = e.refresh();
  REQUIRE(lost);
  CHECK(lost->now.nodes.to_string() == "0");
  CHECK(lost->text == "the host has changed what it allows: memory on nodes 0, before 0-1: group 1 takes it "
                      "from node 0; still 4 workers take tasks");
  CHECK(e.metrics().last_machine_change == lost->text);
  CHECK(e.run([] { return 7; }).get() == 7);
  host.memory("0-1");
  const std::optional<machine_change> back = e.refresh();
  REQUIRE(back);
  CHECK(back->text.find("memory on nodes 0-1, before 0: group 1 takes it from node 1;") != std::string::npos);
  CHECK(e.metrics().machine_changes == 2);
}

TEST_CASE("following memory: where memory is not put on nodes, a change is noted and moves nothing") {
  const recorded_host host(4);
  host.two_nodes(4);
  profile p = waiting(host);
  p.workers.memory = memory_on::anywhere;
  engine e(p);
  host.memory("0");
  CHECK(e.refresh()->text.find("memory on nodes 0, before 0-1; still") != std::string::npos);
}

TEST_CASE("following memory: a node of which nothing was known advises a restart") {
  const recorded_host host(4);
  host.two_nodes(4);
  change_log log;
  engine e(waiting(host), log.hooks());
  host.memory("0-2");
  REQUIRE(e.refresh());
  const std::vector<std::string> lines = log.lines();
  CHECK(std::ranges::count_if(lines, [](const std::string& l) {
          return l.find("memory nodes 2 have come") != std::string::npos;
        }) == 1);
}

TEST_CASE("following memory: without what can be read of nodes, what held before holds on") {
  const recorded_host host(4);
  host.two_nodes(4);
  engine e(waiting(host));
  host.memory("1");
  REQUIRE(e.refresh());
  std::filesystem::remove(host.root() + "/sys/devices/system/node/has_memory");
  CHECK_FALSE(e.refresh());
}
