#pragma once

#include <corewise/policies/policy.hpp>

namespace corewise {

inline constexpr std::string_view local_first_name = "local_first";

std::unique_ptr<policy> make_local_first(const locality_groups& groups, const worker_layout& workers,
                                         const dispatch_weights& weights);

} // namespace corewise
