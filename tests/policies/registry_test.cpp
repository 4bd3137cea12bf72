#include "made_machine.hpp"
#include "situation.hpp"

#include <corewise/policies/steal_policy.hpp>

#include <doctest/doctest.h>

#include <set>
#include <string>

using namespace corewise;
using namespace corewise::tests;

namespace {

/// The names in one string, which a failed check prints.
std::string in_a_row(const std::vector<std::string_view>& names) {
  std::string row;
  for (const std::string_view name : names) row.append(row.empty() ? "" : " ").append(name);
  return row;
}

} // namespace

TEST_CASE("registry: policies are made by name, and an unknown name makes none") {
  const situation s(build(one_kind(1, 1)));
  CHECK(in_a_row(policy_names()) ==
        "nearest_lightest lightest two_choices activity local_first global_queue round_robin random");
  for (const std::string_view name : policy_names())
    CHECK(make_policy(name, s.groups(), s.workers(), {})->name() == name);
  CHECK(make_policy("nearest", s.groups(), s.workers(), {}) == nullptr);
}

TEST_CASE("registry: steal policies are made by name, and an unknown name makes none") {
  const situation s(build(one_kind(1, 1)));
  CHECK(in_a_row(steal_policy_names()) == "nearest_half random_half hottest_half none");
  for (const std::string_view name : steal_policy_names())
    for (const steal_start start : {steal_start::nearest, steal_start::random})
      CHECK(make_steal_policy(name, s.groups(), s.workers(), start)->name() == name);
  CHECK(make_steal_policy("nearest", s.groups(), s.workers(), steal_start::nearest) == nullptr);
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
