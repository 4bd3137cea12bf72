#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace corewise::detail {

/// Reads "50us", "1.5ms", "10s"; units ns, us (or µs), ms, s, min, h. Returns nothing when the text is not
/// such a duration, not a whole number of ns, or too large for one.
std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text);

/// Returns the duration in the largest unit that gives a whole number: "1500us", "10s".
std::string to_text(std::chrono::nanoseconds duration);

} // namespace corewise::detail
