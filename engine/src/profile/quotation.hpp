#pragma once

#include <string>
#include <string_view>

namespace corewise::detail {

/// Text from a file as it may stand in one line of a message: what cannot be printed is escaped, and what is
/// longer than `longest` bytes is cut between two characters and ends in "...".
std::string printable(std::string_view text, std::size_t longest = 60);

/// `printable` in double quotes.
std::string quote(std::string_view text);

} // namespace corewise::detail
