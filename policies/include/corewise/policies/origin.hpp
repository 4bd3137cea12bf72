#pragma once

#include <corewise/policies/policy.hpp>

namespace corewise {

/// The origin of a task that a thread outside submits from `cpu`. Returns nothing when the engine does not
/// use that CPU. O(1). Any thread.
inline std::optional<task_origin> origin_from_cpu(const locality_groups& groups, std::uint32_t cpu) noexcept {
  const std::optional<group_id> home = groups.group_of_cpu(cpu);
  if (!home) return std::nullopt;
  return task_origin{*home, std::nullopt, cpu};
}

/// Draws a home domain for a task from a thread whose CPU says nothing: the domain of a worker drawn by
/// `rng`. So it has workers, and larger domains are drawn more often. O(1).
task_origin origin_at_random(const worker_layout& workers, placement_rng& rng) noexcept;

/// The origin of a task that a thread outside submits from `cpu`, which may be nothing. Draws a home where
/// that CPU says nothing. O(1).
inline task_origin origin_from_outside(const locality_groups& groups, const worker_layout& workers,
                                       std::optional<std::uint32_t> cpu, placement_rng& rng) noexcept {
  if (cpu)
    if (const std::optional<task_origin> here = origin_from_cpu(groups, *cpu)) return *here;
  return origin_at_random(workers, rng);
}

/// The origin of a task that a worker submits. O(1). Any thread.
task_origin origin_from_worker(const worker_layout& workers, worker_id worker) noexcept;

} // namespace corewise
