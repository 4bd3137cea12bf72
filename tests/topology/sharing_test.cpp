#include "made_machine.hpp"

#include <corewise/topology/discovery.hpp>
#include <corewise/topology/sharing.hpp>

#include <doctest/doctest.h>

#include <random>

using namespace corewise;
using namespace corewise::tests;

namespace {

cpu_set cpus_of(const char* list) { return cpu_set::parse(list).value(); }

topology synthetic(const char* text) {
  machine_description description;
  description.source = synthetic_source{text};
  return discover(description);
}

std::vector<std::string> shares(const topology& machine, const std::vector<sharer>& all) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < all.size(); ++i) texts.push_back(share_of(machine, all, i).to_string());
  return texts;
}

using texts = std::vector<std::string>;

} // namespace

TEST_CASE("sharing: cores are divided by weight, and those that stand together stay together") {
  const topology machine = synthetic("pack:2 l3:2 core:2 pu:1");
  const cpu_set& all = machine.cpus();
  CHECK(shares(machine, {{"a", 100, all}}) == texts{"0-7"});
  CHECK(shares(machine, {{"a", 100, all}, {"b", 100, all}}) == texts{"0-3", "4-7"}); // a package each
  CHECK(shares(machine, {{"a", 300, all}, {"b", 100, all}}) == texts{"0-5", "6-7"});
  CHECK(shares(machine, {{"a", 100, all}, {"b", 100, all}, {"c", 200, all}}) == texts{"0-1", "2-3", "4-7"});
}

TEST_CASE("sharing: a core's hardware threads stay together") {
  const topology machine = synthetic("pack:1 core:3 pu:2");
  const cpu_set& all = machine.cpus();
  CHECK(shares(machine, {{"a", 200, all}, {"b", 100, all}}) == texts{"0-3", "4-5"});
}

TEST_CASE("sharing: only cores that both may use are divided") {
  const topology machine = synthetic("pack:1 core:8 pu:1");
  CHECK(shares(machine, {{"a", 100, cpus_of("0-5")}, {"b", 100, cpus_of("2-7")}}) == texts{"0-3", "4-7"});
  CHECK(shares(machine, {{"a", 100, cpus_of("0-3")}, {"b", 1, cpus_of("4-7")}}) == texts{"0-3", "4-7"});
}

TEST_CASE("sharing: what rounding takes of one kind of core it gives of the next") {
  made_machine made; // three fast cores, and three slow ones
  made.capacities = {512, full_capacity};
  for (std::uint32_t i = 0; i < 6; ++i)
    made.cores.push_back({std::to_string(i), 0U, 0U, 0U, i < 3 ? 1U : 0U});
  const topology machine = build(made);
  CHECK(shares(machine, {{"a", 100, machine.cpus()}, {"b", 100, machine.cpus()}}) == texts{"0-1,3", "2,4-5"});
}

TEST_CASE("sharing: where there are more sharers than cores, some share a core") {
  const topology machine = synthetic("pack:1 core:2 pu:1");
  const cpu_set& all = machine.cpus();
  const texts three = shares(machine, {{"a", 100, all}, {"b", 100, all}, {"c", 100, all}});
  for (const std::string& share : three) CHECK(share.size() == 1);
  CHECK(shares(machine, {{"a", 10000, all}, {"b", 1, all}}) == texts{"0-1", "1"});
}

TEST_CASE("sharing: no core is left out or given twice, whatever the weights and the CPUs are") {
  const unsigned seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  const topology machine = synthetic("pack:2 l3:4 core:4 pu:2");
  for (int round = 0; round < 200; ++round) {
    std::vector<sharer> all;
    for (std::uint32_t i = 0, n = 1 + below(6); i < n; ++i) {
      const std::uint32_t first = below(32);
      all.push_back({"s", 1 + below(1000), cpu_set::range(2 * first, 2 * (first + below(32 - first)) + 1)});
    }
    cpu_set wanted;
    cpu_set given;
    std::size_t sum = 0;
    std::size_t alone = 0; // sharers that may have taken a core of another
    for (std::size_t i = 0; i < all.size(); ++i) {
      const cpu_set share = share_of(machine, all, i);
      CHECK_FALSE(share.empty());
      CHECK(share.is_subset_of(all[i].cpus));
      wanted |= all[i].cpus;
      given |= share;
      sum += share.size();
      alone += share.size() == 2 ? 1 : 0;
    }
    CHECK(given == wanted);
    CHECK(sum <= wanted.size() + 2 * alone);
    CHECK(sum >= wanted.size());
  }
}
