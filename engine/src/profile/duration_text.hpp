#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace corewise::detail {

/// Reads "50us", "1.5ms", "10s"; units ns, us (or µs), ms, s, min, h. Nothing when it is not such a text, not
/// a whole number of ns, or too large for one.
std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text);

/// The duration in the largest unit that gives a whole number: "1500us", "10s".
std::string to_text(std::chrono::nanoseconds duration);

} // namespace corewise::detail
