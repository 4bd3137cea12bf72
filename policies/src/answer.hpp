#pragma once

#include "candidates.hpp"

namespace corewise::detail {

/// The level of a group as a task of that origin sees it: from outside the whole home domain is home.
inline level level_from(const locality_groups& groups, const task_origin& origin, group_id g) noexcept {
  const level between = groups.level_between(origin.group, g);
  return !origin.worker && between == level::same_domain ? level::same_group : between;
}

/// The answer of a policy that charges nothing for distance.
inline placement answer(const locality_groups& groups, const task_origin& origin, const candidate& chosen,
                        double score, placement_reason reason) noexcept {
  return {chosen.worker, chosen.group, level_from(groups, origin, chosen.group), score, score, reason, false};
}

} // namespace corewise::detail
