#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace corewise::command {

using json = nlohmann::ordered_json;

/// Writes JSON that a person can read, with a new line at its end: indented by two, a flat value (no more
/// than numbers, strings and empty lists inside) on one line. Text that is not UTF-8 gets replacement
/// characters.
std::string text_of(const json& value);

} // namespace corewise::command
