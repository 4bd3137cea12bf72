#pragma once

#include <corewise/policies/policy.hpp>

namespace corewise {

inline constexpr std::string_view round_robin_name = "round_robin";

std::unique_ptr<policy> make_round_robin(const locality_groups& groups, const worker_layout& workers,
                                         const dispatch_weights& weights);

} // namespace corewise
