#pragma once

#include "situation.hpp"

#include <corewise/policies/steal_policy.hpp>

#include <vector>

namespace corewise::tests {

/// A steal policy on a situation's machine, and thieves' ways through it.
class steal_tours {
 public:
  steal_tours(const situation& s, std::string_view policy_name, steal_start start = steal_start::nearest)
      : situation_(s),
        policy_(make_steal_policy(policy_name, s.groups(), s.workers(), start)) {}

  const steal_policy& rule() const noexcept { return *policy_; }

  /// All stops of a tour on which no stop yields anything.
  std::vector<steal_stop> all(std::uint32_t thief, steal_effort effort = steal_effort::thorough) {
    return until(thief, effort, [](const steal_stop&) { return false; });
  }
  /// The stops up to the first at which `take` returns true.
  template <class Take>
  std::vector<steal_stop> until(std::uint32_t thief, steal_effort effort, const Take& take) {
    std::vector<steal_stop> stops;
    taken_ = policy_->visit(situation_.view(), {thief}, rng_, effort, [&](const steal_stop& s) {
      stops.push_back(s);
      return take(s);
    });
    return stops;
  }
  /// The workers among all stops, in their order.
  std::vector<std::uint32_t> victims(std::uint32_t thief, steal_effort effort = steal_effort::thorough) {
    std::vector<std::uint32_t> workers;
    for (const steal_stop& s : all(thief, effort))
      if (s.victim) workers.push_back(s.victim->value);
    return workers;
  }
  /// Returns whether the last tour ended with a theft.
  bool taken() const noexcept { return taken_; }

 private:
  const situation& situation_;
  std::unique_ptr<steal_policy> policy_;
  placement_rng rng_{1};
  bool taken_ = false;
};

} // namespace corewise::tests
