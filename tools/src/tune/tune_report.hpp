#pragma once

#include "../json_text.hpp"

#include <corewise/simulator/tune.hpp>

#include <string>

namespace corewise::command {

/// Writes the findings of tuning for people.
std::string text_of(const tuning_result& r, const tuning_options& options, const tuning_story& story);
/// Writes the same for programs.
json json_of(const tuning_result& r, const tuning_options& options, const tuning_story& story);

} // namespace corewise::command
