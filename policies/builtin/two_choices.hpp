#pragma once

#include <corewise/policies/policy.hpp>

namespace corewise {

inline constexpr std::string_view two_choices_name = "two_choices";

std::unique_ptr<policy> make_two_choices(const locality_groups& groups, const worker_layout& workers,
                                         const dispatch_weights& weights);

} // namespace corewise
