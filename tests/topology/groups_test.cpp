#include "made_machine.hpp"

#include <corewise/topology/error.hpp>
#include <corewise/topology/groups.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <random>
#include <set>

using namespace corewise;
using namespace corewise::tests;

namespace {

std::vector<std::string> cpus_of(const locality_groups& groups) {
  std::vector<std::string> lists;
  for (const auto& g : groups.groups()) lists.push_back(g.cpus.to_string());
  return lists;
}

std::vector<std::uint32_t> steal_order_of(const locality_groups& groups, std::uint32_t g) {
  std::vector<std::uint32_t> order;
  for (const group_id victim : groups[{g}].steal_order) order.push_back(victim.value);
  return order;
}

using lists = std::vector<std::string>;
using order = std::vector<std::uint32_t>;

/// A machine of random shape: unknown places, caches across nodes, interleaved CPU numbers, any kinds.
made_machine random_machine(std::mt19937& random) {
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  const auto maybe = [&](std::uint32_t n) { return below(6) == 0 ? std::nullopt : std::optional(below(n)); };
  const std::uint32_t kinds = 1 + below(3);
  const std::uint32_t cores = kinds + below(40);
  const std::uint32_t places = 1 + below(4);
  made_machine made;
  made.capacities.clear();
  for (std::uint32_t k = 0; k < kinds; ++k) made.capacities.push_back(k + 1 == kinds ? 1024 : 200 * (k + 1));
  for (std::uint32_t i = 0; i < cores; ++i) {
    const std::string cpus = std::to_string(i) + (below(2) == 0 ? "" : "," + std::to_string(i + cores));
    made.cores.push_back({cpus, maybe(places), maybe(places), maybe(places), i < kinds ? i : below(kinds)});
  }
  return made;
}

void check_partition(const topology& machine, const locality_groups& groups) {
  cpu_set seen;
  for (const auto& g : groups.groups()) {
    CHECK_FALSE(g.cpus.intersects(seen));
    seen |= g.cpus;
    cpu_set of_cores;
    for (const std::uint32_t c : g.cores) {
      of_cores |= machine.cores()[c].cpus;
      CHECK(machine.cores()[c].kind == g.kind);
      CHECK(machine.cores()[c].package == g.package);
      CHECK(machine.cores()[c].node == g.node);
    }
    CHECK(of_cores == g.cpus);
    for (const std::uint32_t cpu : g.cpus.to_vector()) CHECK(groups.group_of_cpu(cpu) == g.id);
  }
  CHECK(seen == machine.cpus());
}

void check_steal_orders(const locality_groups& groups) {
  for (const auto& g : groups.groups()) {
    REQUIRE(g.steal_order.size() == groups.size());
    CHECK(g.steal_order.front() == g.id);
    CHECK(std::set(g.steal_order.begin(), g.steal_order.end()).size() == groups.size());
    for (std::size_t i = 1; i < g.steal_order.size(); ++i) {
      const group_id before = g.steal_order[i - 1];
      const group_id after = g.steal_order[i];
      REQUIRE(groups.level_between(g.id, before) <= groups.level_between(g.id, after));
      if (groups.level_between(g.id, before) == groups.level_between(g.id, after))
        REQUIRE(groups.distance(g.id, before) <= groups.distance(g.id, after));
    }
  }
}

void check_numbering(const locality_groups& groups) {
  std::uint32_t lowest = 0;
  for (std::size_t d = 0; d < groups.domains().size(); ++d) {
    cpu_set cpus;
    std::uint32_t capacity = full_capacity;
    for (const group_id g : groups.domains()[d]) {
      CHECK(groups[g].domain == d);
      CHECK(groups[g].capacity <= capacity);
      capacity = groups[g].capacity;
      cpus |= groups[g].cpus;
    }
    CHECK((d == 0 || cpus.first() > lowest));
    lowest = cpus.first();
  }
}

} // namespace

TEST_CASE("groups: two sockets with two kinds make four groups, fast before slow") {
  const topology machine = build(two_hybrid_sockets());
  const locality_groups groups(machine, {});
  CHECK(cpus_of(groups) == lists{"0-7", "8-15", "16-23", "24-31"});
  CHECK(groups[{0}].capacity == 1024);
  CHECK(groups[{1}].capacity == 512);
  CHECK(groups[{3}].package == 1U);
  CHECK(groups[{3}].node == 1U);
  CHECK(groups[{3}].llc_level == 3U);
  CHECK(groups.domains().size() == 2);
  CHECK(groups.level_between({0}, {0}) == level::same_group);
  CHECK(groups.level_between({0}, {1}) == level::same_domain);
  CHECK(groups.level_between({1}, {2}) == level::cross_package);
  CHECK(groups.group_of_cpu(25) == group_id{3});
  CHECK_FALSE(groups.group_of_cpu(32));
}

TEST_CASE("groups: a domain above the limit is cut into parts that differ by one core at most") {
  CHECK(cpus_of(locality_groups(build(one_kind(1, 16)), {})) == lists{"0-15"});
  CHECK(cpus_of(locality_groups(build(one_kind(1, 17)), {})) == lists{"0-8", "9-16"});
  CHECK(cpus_of(locality_groups(build(one_kind(1, 50)), {})) == lists{"0-12", "13-25", "26-37", "38-49"});
  CHECK(cpus_of(locality_groups(build(one_kind(1, 50)), {domain_kind::llc, 0})) == lists{"0-49"});
  const locality_groups cuts(build(one_kind(1, 50)), {});
  CHECK(cuts.level_between({0}, {3}) == level::same_domain);
  CHECK(cuts[{3}].llc_level == 3U);
}

TEST_CASE("groups: each kind is cut by itself, so that eight fast and eight slow cores stay whole") {
  const locality_groups groups(build(two_hybrid_sockets()), {domain_kind::llc, 4});
  CHECK(cpus_of(groups) == lists{"0-3", "4-7", "8-11", "12-15", "16-19", "20-23", "24-27", "28-31"});
}

TEST_CASE("groups: the kind of domain can be chosen, but a domain never crosses a node or a package") {
  made_machine made; // 2 packages × 2 nodes × 2 caches × 2 cores
  for (std::uint32_t i = 0; i < 16; ++i) made.cores.push_back({std::to_string(i), i / 8, i / 4, i / 2});
  const topology machine = build(made);
  CHECK(locality_groups(machine, {domain_kind::core, 16}).size() == 16);
  CHECK(locality_groups(machine, {domain_kind::llc, 16}).size() == 8);
  const lists nodes{"0-3", "4-7", "8-11", "12-15"};
  CHECK(cpus_of(locality_groups(machine, {domain_kind::numa, 16})) == nodes);
  CHECK(cpus_of(locality_groups(machine, {domain_kind::package, 16})) == nodes);
  CHECK(cpus_of(locality_groups(machine, {domain_kind::machine, 16})) == nodes);
  CHECK_FALSE(locality_groups(machine, {domain_kind::numa, 16})[{0}].llc_level);
}

TEST_CASE("groups: cores with private last-level caches are one domain of their node") {
  made_machine made; // 2 packages of 4 cores
  for (std::uint32_t i = 0; i < 8; ++i) made.cores.push_back({std::to_string(i), i / 4, i / 4, i});
  const locality_groups groups(build(made), {});
  CHECK(cpus_of(groups) == lists{"0-3", "4-7"});
  CHECK_FALSE(groups[{0}].llc_level);
  CHECK(locality_groups(build(made), {domain_kind::core, 16}).size() == 8);
}

TEST_CASE("groups: a cache with one user makes no domain beside caches with several") {
  made_machine made; // a cache of two cores, and two of one each
  for (std::uint32_t i = 0; i < 4; ++i) made.cores.push_back({std::to_string(i), 0, 0, i < 2 ? 0 : i});
  CHECK(cpus_of(locality_groups(build(made), {})) == lists{"0-1", "2-3"});
}

TEST_CASE("groups: cores without a known cache, node or package share one") {
  made_machine made;
  for (std::uint32_t i = 0; i < 4; ++i) made.cores.push_back({std::to_string(i), {}, {}, {}});
  CHECK(cpus_of(locality_groups(build(made), {})) == lists{"0-3"});
  const locality_groups by_core(build(made), {domain_kind::core, 16});
  CHECK(by_core.level_between({0}, {1}) == level::same_package); // not same_node: no node is known
  CHECK(by_core.distance({0}, {1}) == 10);
  CHECK_FALSE(by_core[{0}].llc_level);
}

TEST_CASE("groups: a known and an unknown package are two packages") {
  made_machine made;
  made.cores = {{"0", 0U, {}, 0U}, {"1", {}, {}, 1U}};
  CHECK(locality_groups(build(made), {}).level_between({0}, {1}) == level::cross_package);
}

TEST_CASE("groups: a node that spans packages makes their groups neighbours of one node") {
  made_machine made;
  made.cores = {{"0", 0U, 0U, 0U}, {"1", 1U, 0U, 1U}, {"2", 1U, 1U, 2U}};
  const locality_groups groups(build(made), {});
  CHECK(groups.level_between({0}, {1}) == level::same_node);
  CHECK(groups.level_between({1}, {2}) == level::same_package);
  CHECK(groups.level_between({0}, {2}) == level::cross_package);
}

TEST_CASE("groups: a cache that spans two nodes is two domains") {
  made_machine made;
  made.cores = {{"0", 0U, 0U, 0U}, {"1", 0U, 1U, 0U}};
  CHECK(cpus_of(locality_groups(build(made), {})) == lists{"0", "1"});
}

TEST_CASE("groups: a core's hardware threads stay together, with any numbers") {
  made_machine made;
  for (std::uint32_t i = 0; i < 4; ++i)
    made.cores.push_back({std::to_string(i) + "," + std::to_string(i + 4), i / 2, i / 2, i / 2});
  CHECK(cpus_of(locality_groups(build(made), {})) == lists{"0-1,4-5", "2-3,6-7"});
}

TEST_CASE("groups: domains are numbered by their lowest CPU, not by the order of cores") {
  made_machine made;
  made.cores = {{"4", 1U, 1U, 1U}, {"2", 1U, 1U, 1U}, {"3", 0U, 0U, 0U}, {"0", 0U, 0U, 0U}};
  CHECK(cpus_of(locality_groups(build(made), {})) == lists{"0,3", "2,4"});
}

TEST_CASE("groups: steal orders go outward by level, then distance, then to the next in number") {
  made_machine made = one_kind(4, 1);
  SUBCASE("equal distances begin with the next one") {
    const locality_groups groups(build(made), {});
    CHECK(steal_order_of(groups, 0) == order{0, 1, 2, 3});
    CHECK(steal_order_of(groups, 2) == order{2, 3, 0, 1});
  }
  SUBCASE("distances decide before numbers, and need not be symmetric") {
    made.distances = {{10, 31, 21, 300}, {21, 10, 31, 21}, {21, 21, 10, 31}, {400, 300, 70000, 10}};
    const locality_groups groups(build(made), {});
    CHECK(steal_order_of(groups, 0) == order{0, 2, 1, 3});
    CHECK(steal_order_of(groups, 1) == order{1, 3, 0, 2});
    CHECK(steal_order_of(groups, 3) == order{3, 1, 0, 2});
    CHECK(groups.distance({3}, {2}) == 70000);
  }
  SUBCASE("the level decides before the distance") {
    made.cores = {{"0", 0U, 0U, 0U}, {"1", 1U, 1U, 1U}, {"2", 0U, 2U, 2U}, {"3", 0U, 0U, 3U}};
    made.distances = {{10, 11, 40}, {11, 10, 12}, {40, 12, 10}};
    CHECK(steal_order_of(locality_groups(build(made), {domain_kind::core, 16}), 0) == order{0, 3, 2, 1});
  }
}

TEST_CASE("groups: on two thousand random machines they partition the CPUs and fulfil every rule") {
  const std::uint32_t seed = 20240607;
  std::mt19937 random(seed);
  for (int i = 0; i < 2000; ++i) {
    CAPTURE(seed);
    CAPTURE(i);
    const topology machine = build(random_machine(random));
    const auto group_by = static_cast<domain_kind>(random() % 5);
    const locality_groups groups(machine, {group_by, static_cast<std::uint32_t>(random() % 6)});
    check_partition(machine, groups);
    check_numbering(groups);
    check_steal_orders(groups);
  }
}

TEST_CASE("groups: a machine of a thousand nodes is grouped at once") {
  made_machine made = one_kind(1024, 4);
  for (std::uint32_t from = 0; from < 1024; ++from) {
    made.distances.emplace_back();
    for (std::uint32_t to = 0; to < 1024; ++to)
      made.distances.back().push_back(from == to ? 10 : 20 + (from ^ to) % 37);
  }
  const topology machine = build(made);
  auto best = std::chrono::nanoseconds::max();
  for (int i = 0; i < 5; ++i) { // the best of several runs: the machine may be busy with other things
    const auto begin = std::chrono::steady_clock::now();
    const locality_groups groups(machine, {});
    best = std::min<std::chrono::nanoseconds>(best, std::chrono::steady_clock::now() - begin);
    CHECK(groups.size() == 1024);
    CHECK(groups.distance({1023}, groups[{1023}].steal_order[1]) == 20);
    CHECK(groups.distance({1023}, groups[{1023}].steal_order[1023]) == 56);
  }
  MESSAGE("1,024 groups in " << best.count() / 1000 << " us");
  CHECK(best < std::chrono::seconds(2)); // about 10 ms; sanitizers on a busy machine take up to 700
}

TEST_CASE("groups: more than the largest number of groups is refused with a reason") {
  const topology machine = build(one_kind(1, locality_groups::largest + 1));
  CHECK(locality_groups(machine, {}).size() == 513);
  CHECK_THROWS_WITH_AS(
      locality_groups(machine, {domain_kind::core, 16}),
      "8193 locality groups would result, at most 8192 are possible; a coarser group_by or a "
      "larger group_max makes fewer",
      topology_error);
}
