#include <corewise/topology/discovery.hpp>

#include <calibrate/places.hpp>
#include <doctest/doctest.h>

using namespace corewise;
using namespace corewise::command;

namespace {

struct described {
  explicit described(const std::string& synthetic)
      : machine(discover({.source = synthetic_source{synthetic},
                          .source_name = {},
                          .kinds = {},
                          .distances = {},
                          .capacities = {},
                          .costs = {},
                          .use = {}})),
        groups(machine, {}),
        pairs(pairs_of(machine, groups)) {}

  std::string at(level l) const { return told(pairs[static_cast<std::size_t>(l)]); }
  std::string why_not(level l) const { return why_no_pair(machine, l); }

  topology machine;
  locality_groups groups;
  level_pairs pairs;
};

} // namespace

TEST_CASE("each level of a machine is measured between CPUs of that level") {
  const described two("pack:2 numa:1 l3:2 core:2 pu:1");
  CHECK(two.at(level::same_group) == "CPUs 0 and 1, 2 and 3, 4 and 5, 6 and 7");
  CHECK(two.at(level::same_domain).empty());
  CHECK(two.at(level::same_node) == "CPUs 0 and 2, 4 and 6");
  CHECK(two.at(level::same_package).empty());
  CHECK(two.at(level::cross_package) == "CPUs 0 and 4, 0 and 6, 2 and 4, 2 and 6");
  CHECK(two.why_not(level::same_domain) == "no locality domain has several groups");
  CHECK(two.why_not(level::same_package) == "no package has several memory nodes with CPUs");
}

TEST_CASE("two hardware threads of one core stand in for two cores only on a machine of one core") {
  CHECK(described("core:2 pu:2").at(level::same_group) == "CPUs 0 and 2");
  CHECK(described("core:1 pu:2").at(level::same_group) == "CPUs 0 and 1 (hardware threads of one core)");
}

TEST_CASE("a machine of one CPU has no pair and says so") {
  const described one("core:1 pu:1");
  for (const auto& some : one.pairs) CHECK(some.empty());
  CHECK(one.why_not(level::cross_package) == "there is one CPU to use");
}
