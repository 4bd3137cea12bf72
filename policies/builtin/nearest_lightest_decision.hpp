#pragma once

#include "nearest_lightest_facts.hpp"

// The long way of nearest_lightest, for all questions: with a hint, from a worker, of long tasks, and where
// the levels at home do not tell.

namespace corewise::detail {

/// Places a task by the steps 1 to 4 of `nearest_lightest`. A function of its own, so that the short way
/// saves no registers for it.
[[gnu::noinline]] placement place_by_decision(const placing_facts& rule, const load_view& loads,
                                              const task_origin& origin, const placement_hint& hint) noexcept;

/// The greatest load at which no other worker can beat the worker `origin`. Returns nothing if an idle one
/// might.
std::optional<std::uint32_t> max_load_that_wins(const placing_facts& rule, const load_view& loads,
                                                const task_origin& origin) noexcept;

} // namespace corewise::detail
