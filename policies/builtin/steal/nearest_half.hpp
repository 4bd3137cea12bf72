#pragma once

#include <corewise/policies/steal_policy.hpp>

namespace corewise {

inline constexpr std::string_view nearest_half_name = "nearest_half";

std::unique_ptr<steal_policy> make_nearest_half(const locality_groups& groups, const worker_layout& workers,
                                                steal_start start);

} // namespace corewise
