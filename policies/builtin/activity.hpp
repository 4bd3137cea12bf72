#pragma once

#include <corewise/policies/policy.hpp>

namespace corewise {

inline constexpr std::string_view activity_name = "activity";

std::unique_ptr<policy> make_activity(const locality_groups& groups, const worker_layout& workers,
                                      const dispatch_weights& weights);

} // namespace corewise
