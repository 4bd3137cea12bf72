#pragma once

#include "value_rule.hpp"

#include <nlohmann/json.hpp>

namespace corewise::detail {

/// The JSON schema of the values that a rule takes, as far as a schema can say it: not the range of durations,
/// nor the order of a CPU list.
nlohmann::ordered_json schema_of(const value_rule& rule);

} // namespace corewise::detail
