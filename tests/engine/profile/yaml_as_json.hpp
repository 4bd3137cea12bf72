#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace corewise::tests {

/// A YAML document as an editor reads it before it holds it against the schema: YAML 1.2's core types.
nlohmann::json yaml_as_json(const std::string& yaml);

} // namespace corewise::tests
