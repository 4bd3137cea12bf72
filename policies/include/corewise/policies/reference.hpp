#pragma once

#include <corewise/policies/policy.hpp>

namespace corewise {

/// Places by the rule of `nearest_lightest` as it is written, without a shortcut: computes the cost of every
/// worker and takes the least. Of equal costs it takes the lower level, then the higher capacity, the lower
/// distance, the lower id. A short task from outside goes to the worker of the submitter's core instead, if
/// that worker is available, is in the same group, and has less than twice as many tasks, and the cheapest
/// one has 16 or more. `nearest_lightest` must give this answer while levels are true, and `explain` shows
/// it. Cost: linear in the workers. Any thread.
placement place_by_trying_all(const locality_groups& groups, const load_view& loads,
                              const dispatch_weights& weights, const task_origin& origin,
                              const placement_hint& hint) noexcept;

/// The offers among which `place_by_trying_all` chooses. For a task from a worker that worker comes first;
/// then each group's lightest (other) worker, in the order of groups. Where any worker fulfils the hint,
/// only such workers count. At last the worker of the submitter's core, where it is chosen instead of the
/// lightest. Any thread.
std::vector<considered> consider_groups(const locality_groups& groups, const load_view& loads,
                                        const dispatch_weights& weights, const task_origin& origin,
                                        const placement_hint& hint);

} // namespace corewise
