#pragma once

#include <corewise/policies/steal_policy.hpp>

namespace corewise {

inline constexpr std::string_view no_stealing_name = "none";

std::unique_ptr<steal_policy> make_no_stealing(const locality_groups& groups, const worker_layout& workers,
                                               steal_start start);

} // namespace corewise
