#pragma once

#include <string>
#include <string_view>

namespace corewise::detail {

/// The longest name that a user may give as a key: to a core kind, a cost.
inline constexpr std::size_t name_bytes_max = 32;

/// Returns whether YAML does not allow the character, or it is the byte order mark inside a text.
bool is_control(char32_t c) noexcept;

/// Returns a text as it may stand in one line of a message: control characters, ends of lines and bytes that are not UTF-8
/// are escaped, and a text longer than `longest` bytes is cut between two characters and ends in "...".
std::string printable(std::string_view text, std::size_t longest = 60);

/// Returns whether a text of so many bytes at most may stand in one line of a profile.
bool is_one_line(std::string_view text, std::size_t longest) noexcept;

/// Returns `printable(text)` in double quotes.
std::string quote(std::string_view text);

} // namespace corewise::detail
