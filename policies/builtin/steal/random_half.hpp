#pragma once

#include <corewise/policies/steal_policy.hpp>

namespace corewise {

inline constexpr std::string_view random_half_name = "random_half";

std::unique_ptr<steal_policy> make_random_half(const locality_groups& groups, const worker_layout& workers,
                                               steal_start start);

/// Makes the same policy under another's name, for which it stands in where distance is not to matter.
std::unique_ptr<steal_policy> make_random_round(const locality_groups& groups, std::string_view name);

} // namespace corewise
