#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace corewise::simulated_words {

/// Puts the text in quotation marks. Replaces what cannot be printed and cuts long texts off.
std::string in_quotes(std::string_view text);
/// Joins words to "a, b, c".
std::string joined(std::span<const std::string_view> words);
/// Returns "; did you mean "x"?" when one of the words is near to `word`, else "".
std::string suggestion(std::string_view word, std::span<const std::string_view> words);

/// Reads a finite number. The whole text must be one.
std::optional<double> read_number(std::string_view text);
/// Reads a whole number of at most `most`. The whole text must be one.
std::optional<std::uint64_t> read_count(std::string_view text, std::uint64_t most);
/// Reads a number with one of the units ns, us, ms and s, at least 0; in ns.
std::optional<double> read_duration(std::string_view text);

/// Writes the shortest text that is read as that number.
std::string number_text(double number);
/// Writes a duration in the largest unit that leaves at least 1 and is read as the same duration.
std::string duration_text(double ns);

} // namespace corewise::simulated_words
