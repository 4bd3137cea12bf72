#include "nearest_lightest_facts.hpp"

// How the facts of nearest_lightest are computed, once for each set of rules.

namespace corewise::detail {

placing_facts::placing_facts(const locality_groups& all_groups, const worker_layout& workers,
                             const dispatch_weights& all_weights)
    : groups(all_groups),
      weights(all_weights),
      full_penalties(level_penalties(all_weights.spill, spill_task_time_ns)),
      neighbourhoods(neighbourhoods_of(all_groups, workers)) {
  by_group.reserve(groups.size());
  for (const locality_group& g : groups.groups()) {
    const auto members = workers.of_group(g.id);
    by_group.push_back({members.empty() ? 0 : members.front().id.value,
                        static_cast<std::uint32_t>(members.size()), g.capacity, g.domain,
                        score_of(weights.score, 0, g.capacity), scores_for(g.capacity)});
  }
  for (const neighbourhood& n : neighbourhoods)
    least_cost_outside.push_back(least_cost_beyond(n, level::same_node, full_penalties));
}

/// The scores of cores of that capacity. A machine has few capacities, so all cores of one capacity share
/// them.
const level_scores* placing_facts::scores_for(std::uint32_t capacity) {
  level_scores& scores = scores_[capacity];
  for (std::uint32_t l = 0; l < load_levels::no_worker; ++l)
    scores[l] = score_of(weights.score, least_load_of(static_cast<std::uint8_t>(l)), capacity);
  scores.back() = std::numeric_limits<double>::infinity();
  return &scores;
}

} // namespace corewise::detail
