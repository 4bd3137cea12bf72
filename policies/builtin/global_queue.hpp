#pragma once

#include <corewise/policies/policy.hpp>

namespace corewise {

inline constexpr std::string_view global_queue_name = "global_queue";

std::unique_ptr<policy> make_global_queue(const locality_groups& groups, const worker_layout& workers,
                                          const dispatch_weights& weights);

} // namespace corewise
