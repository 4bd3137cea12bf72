#pragma once

#include <corewise/engine/apply_result.hpp>
#include <corewise/engine/profile.hpp>

namespace corewise::detail {

/// Returns the values of `next` that a running engine with the profile `now` cannot take, as the table of
/// fields says.
std::vector<apply_result::reason> what_needs_a_restart(const profile& now, const profile& next);

} // namespace corewise::detail
