#pragma once

#include <corewise/policies/policy.hpp>

namespace corewise {

/// The score of a worker with that load on a core of that capacity (1..1024), in tasks of the fastest kind:
/// what placing a task there costs when distance is left out. Exact for every load. Any thread.
double score_of(score_kind kind, std::uint32_t load, std::uint32_t capacity) noexcept;

/// The cost of distance, by level, in tasks of the fastest kind: `spill` × min(1, 50 µs / average task time).
/// The submitting worker itself costs nothing, nor does the whole home domain of a task from outside, so
/// `same_group` is 0. A worker's neighbours, in its group or not, cost `same_domain`. Any thread.
std::array<double, level_count> level_penalties(const spill_costs& spill,
                                                std::uint64_t task_time_ns) noexcept;

} // namespace corewise
