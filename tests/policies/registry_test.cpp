#include "made_machine.hpp"
#include "situation.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>

using namespace corewise;
using namespace corewise::tests;

TEST_CASE("registry: policies are made by name, and an unknown name makes none") {
  const situation s(build(one_kind(1, 1)));
  CHECK(policy_names() == std::vector<std::string_view>{"nearest_lightest", "lightest", "two_choices",
                                                        "activity", "local_first", "round_robin", "random"});
  for (const std::string_view name : policy_names())
    CHECK(make_policy(name, s.groups(), s.workers(), {})->name() == name);
  CHECK(make_policy("nearest", s.groups(), s.workers(), {}) == nullptr);
}

TEST_CASE("registry: each reason has a name of its own") {
  CHECK(to_string(placement_reason::own_queue) == "own_queue");
  CHECK(to_string(placement_reason::idle_nearby) == "idle_nearby");
  CHECK(to_string(placement_reason::least_cost) == "least_cost");
  CHECK(to_string(placement_reason::hinted) == "hinted");
  std::set<std::string_view> names;
  constexpr int reasons = static_cast<int>(placement_reason::drawn) + 1;
  for (int r = 0; r < reasons; ++r) names.insert(to_string(static_cast<placement_reason>(r)));
  CHECK(names.size() == reasons);
}
