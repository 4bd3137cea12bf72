#include "schema_check.hpp"

#include <algorithm>
#include <regex>
#include <stdexcept>

namespace corewise::tests {

namespace {

using nlohmann::json;
using schema_type = nlohmann::ordered_json;

bool is_of_type(const std::string& type, const json& value) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "null") return value.is_null();
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  throw std::logic_error("unknown type " + type);
}

bool is_of_types(const schema_type& types, const json& value) {
  if (types.is_string()) return is_of_type(types, value);
  return std::ranges::any_of(types, [&](const schema_type& type) { return is_of_type(type, value); });
}

bool is_one_of(const schema_type& allowed, const json& value) {
  return std::ranges::any_of(allowed, [&](const schema_type& v) { return json(v) == value; });
}

bool fits_any(const schema_type& schemas, const json& value) {
  return std::ranges::any_of(schemas, [&](const schema_type& s) { return violation(s, value).empty(); });
}

bool has_all(const schema_type& keys, const json& value) {
  return std::ranges::all_of(keys, [&](const schema_type& key) { return value.contains(std::string(key)); });
}

/// Returns whether a value satisfies a keyword. Keywords say nothing about values of other types.
bool satisfies(const std::string& keyword, const schema_type& argument, const json& value) {
  if (keyword == "type") return is_of_types(argument, value);
  if (keyword == "enum") return is_one_of(argument, value);
  if (keyword == "anyOf") return fits_any(argument, value);
  if (keyword == "minimum") return !value.is_number() || value.get<double>() >= argument.get<double>();
  if (keyword == "maximum") return !value.is_number() || value.get<double>() <= argument.get<double>();
  if (keyword == "minLength") return !value.is_string() || value.get<std::string>().size() >= argument;
  if (keyword == "maxLength") return !value.is_string() || value.get<std::string>().size() <= argument;
  if (keyword == "minProperties") return !value.is_object() || value.size() >= argument;
  if (keyword == "required") return !value.is_object() || has_all(argument, value);
  if (keyword == "pattern")
    return !value.is_string() ||
           std::regex_search(value.get<std::string>(), std::regex(std::string(argument)));
  const bool says_nothing = keyword == "$schema" || keyword == "title" || keyword == "description" ||
                            keyword == "default" || keyword == "properties" ||
                            keyword == "additionalProperties" || keyword == "items";
  if (!says_nothing) throw std::logic_error("unknown keyword " + keyword);
  return true;
}

/// Returns the first violation of `properties`, `additionalProperties` and `items` inside the value.
std::string violation_inside(const schema_type& schema, const json& value, const std::string& path) {
  if (value.is_array() && schema.contains("items"))
    for (const json& item : value)
      if (const std::string v = violation(schema["items"], item, path + "[]"); !v.empty()) return v;
  if (!value.is_object()) return "";
  for (const auto& [key, inner] : value.items()) {
    const std::string inner_path = path + '.' + key;
    schema_type rule = true;
    if (schema.contains("properties") && schema["properties"].contains(key))
      rule = schema["properties"][key];
    else if (schema.contains("additionalProperties"))
      rule = schema["additionalProperties"];
    if (rule == false) return inner_path + ": unknown";
    if (rule == true) continue;
    if (const std::string v = violation(rule, inner, inner_path); !v.empty()) return v;
  }
  return "";
}

} // namespace

std::string violation(const nlohmann::ordered_json& schema, const nlohmann::json& value,
                      const std::string& path) {
  for (const auto& [keyword, argument] : schema.items())
    if (!satisfies(keyword, argument, value)) return path + ": " + keyword;
  return violation_inside(schema, value, path);
}

} // namespace corewise::tests
