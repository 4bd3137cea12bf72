#pragma once

#include <corewise/policies/policy.hpp>

namespace corewise::detail {

/// The answer of a policy that sends a task to an injection queue: that of the home group; where nobody of it is
/// available, of the nearest one where somebody is. The worker that is named is the one to wake: a parked one, else any.
/// Cost: two words of bits.
placement injection(const locality_groups& groups, const load_view& loads, const task_origin& origin,
                    placement_rng& rng) noexcept;

} // namespace corewise::detail
