#pragma once

#include <corewise/policies/policy.hpp>

namespace corewise {

inline constexpr std::string_view random_name = "random";

std::unique_ptr<policy> make_random(const locality_groups& groups, const worker_layout& workers,
                                    const dispatch_weights& weights);

} // namespace corewise
