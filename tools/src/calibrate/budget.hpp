#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace corewise::command {

/// Reads "10s", "500ms", "1.5min": a number and its unit (ms, s or min). Returns nothing for other texts, and
/// for more than a day.
std::optional<std::chrono::nanoseconds> parse_budget(std::string_view text);

} // namespace corewise::command
