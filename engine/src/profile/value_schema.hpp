#pragma once

#include "value_rule.hpp"

#include <nlohmann/json.hpp>

namespace corewise::detail {

/// Returns the JSON schema of the values that a rule takes, as far as a schema can say it: without the range
/// of durations and the order of a CPU list.
nlohmann::ordered_json schema_of(const value_rule& rule);

} // namespace corewise::detail
