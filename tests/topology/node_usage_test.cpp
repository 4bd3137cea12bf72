#include "temporary_tree.hpp"

#include <corewise/topology/node_usage.hpp>

#include <doctest/doctest.h>

using namespace corewise;

TEST_CASE("node usage: the memory of each node, ascending; nodes without memory are left out") {
  const tests::temporary_tree host;
  CHECK(read_node_usage(host.root()).empty());
  host.write("sys/devices/system/node/node10/meminfo", "Node 10 MemTotal:       400 kB\n"
                                                       "Node 10 MemFree:        100 kB\n"
                                                       "Node 10 HugePages_Total:     0\n"
                                                       "Node 10 FilePages:       50 kB\n");
  host.write("sys/devices/system/node/node2/meminfo", "Node 2 MemTotal: 8 kB\nNode 2 MemFree: 8 kB\n");
  host.write("sys/devices/system/node/node3/meminfo", "Node 3 MemTotal: 0 kB\n");
  host.write("sys/devices/system/node/node4/cpulist", "0\n");
  const auto seen = read_node_usage(host.root());
  REQUIRE(seen.size() == 2);
  CHECK(seen[0].os_index == 2);
  CHECK(seen[1].os_index == 10);
  CHECK(seen[1].total_bytes == 400 * 1024);
  CHECK(seen[1].free_bytes == 100 * 1024);
  CHECK(seen[1].cache_bytes == 50 * 1024);
}
