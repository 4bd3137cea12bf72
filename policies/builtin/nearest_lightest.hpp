#pragma once

#include <corewise/policies/policy.hpp>

namespace corewise {

inline constexpr std::string_view nearest_lightest_name = "nearest_lightest";

std::unique_ptr<policy> make_nearest_lightest(const locality_groups& groups, const worker_layout& workers,
                                              const dispatch_weights& weights);

} // namespace corewise
