#pragma once

#include <corewise/simulator/tune.hpp>

#include <string_view>

namespace corewise::detail {

/// The name of the goal's figure: "p99 of the response time".
std::string_view subject_of(tuning_goal goal);
/// The name of the goal on the command line: "p99".
std::string_view name_of(tuning_goal goal);

} // namespace corewise::detail
