#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace corewise::detail {

/// One value of a profile on its way between text and struct. A string is a word, a text or a CPU list, as
/// the rule says.
using setting = std::variant<std::string, std::uint64_t, double, std::chrono::nanoseconds>;

/// The values that a field takes.
struct value_rule {
  enum class sort { word, flag, integer, number, duration, text, cpu_list } what = sort::word;
  /// The words that the field takes: the only values of a `word`, and further values of the other sorts.
  std::vector<std::string> words;
  /// Both included. Durations in ns; bytes of a text; not for CPU lists.
  std::uint64_t min = 0;
  std::uint64_t max = 0;
  bool power_of_two = false;
};

/// Reads a value of a file. Returns nothing when the rule does not take it. Does not take numbers, durations
/// and flags in quotes.
std::optional<setting> read_value(const value_rule& rule, const std::string& text, bool in_quotes);

/// Returns whether the rule takes a value that was set in code.
bool takes(const value_rule& rule, const setting& value);

/// Describes for people the values that the rule takes: "a whole number from 1 to 1024".
std::string describe(const value_rule& rule);

/// Returns the value as it would stand in a file.
std::string to_text(const setting& value);

} // namespace corewise::detail
