#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace corewise::simulated_words {

/// The text in quotation marks, what cannot be printed replaced and what is long cut off.
std::string quoted(std::string_view text);
/// "a, b, c".
std::string joined(std::span<const std::string_view> words);
/// "; did you mean "x"?" when one of the words is near to `word`, else "".
std::string suggestion(std::string_view word, std::span<const std::string_view> words);

/// A finite number, all of the text.
std::optional<double> read_number(std::string_view text);
/// A whole number of at most `most`, all of the text.
std::optional<std::uint64_t> read_count(std::string_view text, std::uint64_t most);
/// A number with one of the units ns, us, ms and s, at least 0; in ns.
std::optional<double> read_duration(std::string_view text);

/// The shortest text that is read as that number.
std::string number_text(double number);
/// In the largest unit that leaves at least 1 and is read as the same duration.
std::string duration_text(double ns);

} // namespace corewise::simulated_words
