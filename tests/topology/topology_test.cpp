#include <corewise/topology/error.hpp>
#include <corewise/topology/topology.hpp>

#include <doctest/doctest.h>

using namespace corewise;

namespace {

/// Two cores on one node.
machine_facts small_machine() {
  machine_facts facts;
  facts.source = "synthetic:small";
  facts.cpus = cpu_set::range(0, 3);
  facts.nodes = {{0, facts.cpus, facts.cpus, 0}};
  facts.cores = {{cpu_set::range(0, 1), {}, 0, {}, 0}, {cpu_set::range(2, 3), {}, 0, {}, 0}};
  facts.kinds = {{0, "core", facts.cpus, full_capacity, "one kind"}};
  return facts;
}

template <class Change> void check_refused(Change change, const char* because) {
  auto facts = small_machine();
  change(facts);
  CHECK_THROWS_WITH_AS(topology(std::move(facts)), doctest::Contains(because), topology_error);
}

} // namespace

TEST_CASE("topology: consistent facts are kept as they are") {
  const topology machine(small_machine());
  CHECK(machine.source() == "synthetic:small");
  CHECK(machine.cores().size() == 2);
  CHECK(machine.distance(0, 0) == 10);
}

TEST_CASE("topology: facts that contradict each other are refused with the first contradiction") {
  check_refused([](machine_facts& f) { f.cpus = {}; }, "no CPU");
  check_refused([](machine_facts& f) { f.kinds.clear(); }, "no core kind");
  check_refused([](machine_facts& f) { f.kinds[0].cpus.erase(3); }, "kinds do not partition");
  check_refused([](machine_facts& f) { f.kinds[0].capacity = 1000; }, "1024");
  check_refused([](machine_facts& f) { f.kinds[0].rank = 1; }, "rank");
  check_refused([](machine_facts& f) { f.cores.pop_back(); }, "cores do not partition");
  check_refused([](machine_facts& f) { f.cores[1].cpus.insert(1); }, "cores do not partition");
  check_refused([](machine_facts& f) { f.cores[0].package = 0; }, "package is not in the list");
  check_refused([](machine_facts& f) { f.cores[0].node = 1; }, "NUMA node is not in the list");
  check_refused([](machine_facts& f) { f.cores[0].llc = 0; }, "cache is not in the list");
  check_refused([](machine_facts& f) { f.cores[0].kind = 1; }, "kind is not in the list");
  check_refused([](machine_facts& f) { f.nodes.push_back(f.nodes[0]); }, "os_index order");
  check_refused(
      [](machine_facts& f) {
        f.nodes.push_back(f.nodes[0]);
        f.nodes[1].os_index = 4;
      },
      "home to one CPU");
  check_refused([](machine_facts& f) { f.distances = node_distances{{0}, {{10, 20}}}; }, "not square");
  check_refused([](machine_facts& f) { f.distances = node_distances{{0, 1}, {{10, 20}}}; },
                "does not fit its nodes");
  check_refused(
      [](machine_facts& f) {
        f.kinds = {{0, "E", cpu_set::range(0, 0), 512, ""}, {1, "P", cpu_set::range(1, 3), 1024, ""}};
      },
      "cuts a core");
}

TEST_CASE("topology: nodes that a distance matrix leaves out are 10 from themselves and 20 from others") {
  auto facts = small_machine();
  facts.nodes.push_back({3, {}, {}, 0});
  facts.nodes.push_back({8, {}, {}, 0});
  facts.distances = node_distances{{0, 8}, {{11, 30}, {31, 12}}};
  const topology machine(std::move(facts));
  CHECK(machine.distance(0, 0) == 11);
  CHECK(machine.distance(0, 2) == 30);
  CHECK(machine.distance(2, 0) == 31);
  CHECK(machine.distance(1, 1) == 10);
  CHECK(machine.distance(1, 2) == 20);
}
