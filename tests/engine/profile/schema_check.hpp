#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace corewise::tests {

/// Checks a value against a JSON schema. Returns "", or the path of the first keyword that the value does not
/// satisfy. Knows the keywords that the profile's schema uses, and throws `std::logic_error` for others, so
/// that none goes unchecked.
std::string violation(const nlohmann::ordered_json& schema, const nlohmann::json& value,
                      const std::string& path = "");

} // namespace corewise::tests
