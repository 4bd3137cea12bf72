#pragma once

#include <corewise/policies/policy.hpp>

namespace corewise {

inline constexpr std::string_view lightest_name = "lightest";

std::unique_ptr<policy> make_lightest(const locality_groups& groups, const worker_layout& workers,
                                      const dispatch_weights& weights);

} // namespace corewise
