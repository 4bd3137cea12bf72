#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace corewise::tests {

/// Returns a YAML document as an editor reads it before it checks it against the schema: with YAML 1.2's core
/// types.
nlohmann::json yaml_as_json(const std::string& yaml);

} // namespace corewise::tests
