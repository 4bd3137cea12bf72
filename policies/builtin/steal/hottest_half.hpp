#pragma once

#include <corewise/policies/steal_policy.hpp>

namespace corewise {

inline constexpr std::string_view hottest_half_name = "hottest_half";

std::unique_ptr<steal_policy> make_hottest_half(const locality_groups& groups, const worker_layout& workers,
                                                steal_start start);

} // namespace corewise
