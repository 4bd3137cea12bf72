#pragma once

#include "neighbourhood.hpp"

#include <corewise/policies/policy.hpp>
#include <corewise/policies/score.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <vector>

// The facts that nearest_lightest computes before it is asked: of the groups, of the domains, and of the
// weights.

namespace corewise::detail {

using penalties = std::array<double, level_count>;
/// The score of the least load of each load level, by level.
using level_scores = std::array<double, load_levels::no_worker + 1>;

/// The facts about a group that never change.
struct group_facts {
  std::uint32_t first_worker = 0;
  std::uint32_t workers = 0;
  std::uint32_t capacity = full_capacity;
  std::uint32_t domain = 0;
  double idle_score = 0;
  const level_scores* scores = nullptr;
};

/// The facts that both ways of `nearest_lightest` read. They never change. Any thread.
class placing_facts {
 public:
  placing_facts(const locality_groups& groups, const worker_layout& workers, const dispatch_weights& weights);
  placing_facts(const placing_facts&) = delete;
  placing_facts& operator=(const placing_facts&) = delete;

  /// The cost that no worker at this level or further out undercuts; infinite where there is no worker.
  double least_cost_beyond(const neighbourhood& around, level from, const penalties& penalty) const noexcept {
    double least = std::numeric_limits<double>::infinity();
    for (auto l = static_cast<std::size_t>(from); l < level_count; ++l)
      if (around.begin[l] != around.begin[l + 1])
        least = std::min(least, by_group[around.far[around.begin[l]].value].idle_score + penalty[l]);
    return least;
  }

  /// Returns how many tasks may follow the last one unasked. Such a task waits behind those before it: 2 us at most,
  /// as far as tasks are as short as they were.
  std::uint32_t repeats(std::uint64_t task_time_ns) const noexcept {
    constexpr std::uint64_t wait_ns = 2000;
    constexpr std::uint64_t most = 16;
    if (weights.keep_below_ns == 0 || task_time_ns >= wait_ns) return 0;
    return static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(wait_ns / std::max<std::uint64_t>(task_time_ns, 1), 1, most) - 1);
  }

  const locality_groups& groups;
  dispatch_weights weights;
  penalties full_penalties; // of tasks that take 50 us at most
  std::vector<group_facts> by_group;
  std::vector<neighbourhood> neighbourhoods; // by domain
  std::vector<double> least_cost_outside;    // by domain, with full penalties

 private:
  const level_scores* scores_for(std::uint32_t capacity);

  std::map<std::uint32_t, level_scores> scores_; // by capacity
};

} // namespace corewise::detail
