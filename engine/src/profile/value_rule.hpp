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

/// Which values a field takes.
struct value_rule {
  enum class sort { word, flag, integer, number, duration, text, cpu_list } what = sort::word;
  /// Words that are taken: the only values of a `word`, beside the values of the other sorts.
  std::vector<std::string> words;
  /// Both included. Durations in ns; bytes of a text; not for CPU lists.
  std::uint64_t min = 0;
  std::uint64_t max = 0;
  bool power_of_two = false;
};

/// Reads what stands in a file; nothing when the rule does not take it. Numbers, durations and flags are not
/// taken in quotes.
std::optional<setting> read_value(const value_rule& rule, const std::string& text, bool in_quotes);

/// Whether the rule takes a value that was set in code.
bool takes(const value_rule& rule, const setting& value);

/// What is taken, for people: "a whole number from 1 to 1024".
std::string describe(const value_rule& rule);

/// The value as it would stand in a file.
std::string to_text(const setting& value);

} // namespace corewise::detail
