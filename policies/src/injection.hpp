#pragma once

#include <corewise/policies/policy.hpp>

namespace corewise::detail {

/// The answer of a policy that sends a task to an injection queue: to that of the home group; where no worker
/// of it is available, to that of the nearest group with one. The worker that the answer names is the one to
/// wake: a parked one, else any. Cost: two words of bits.
placement injection(const locality_groups& groups, const load_view& loads, const task_origin& origin,
                    placement_rng& rng) noexcept;

} // namespace corewise::detail
