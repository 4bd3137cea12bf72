#pragma once

#include <corewise/policies/policy.hpp>

namespace corewise::detail {

/// Names the reason of a choice. `idle_fastest_at_home`: the chosen worker has load 0, and no worker of the
/// home domain has a higher capacity.
inline placement_reason reason_for(bool hinted, bool own, bool idle_fastest_at_home) noexcept {
  if (hinted) return placement_reason::hinted;
  if (own) return placement_reason::own_queue;
  return idle_fastest_at_home ? placement_reason::idle_nearby : placement_reason::least_cost;
}

} // namespace corewise::detail
