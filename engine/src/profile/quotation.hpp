#pragma once

#include <string>
#include <string_view>

namespace corewise::detail {

/// Returns a text from a file as it may stand in one line of a message: unprintable characters are escaped,
/// and a text longer than `longest` bytes is cut between two characters and ends in "...".
std::string printable(std::string_view text, std::size_t longest = 60);

/// Returns `printable(text)` in double quotes.
std::string quote(std::string_view text);

} // namespace corewise::detail
