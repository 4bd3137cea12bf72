#include "number_options.hpp"

#include <fmt/format.h>

#include <charconv>
#include <string>
#include <system_error>

namespace corewise::command {

namespace {

/// Reads the whole text. Returns whether it is such a number.
template <class Number> bool reads(const std::string& text, Number& number) {
  const char* const end = text.data() + text.size();
  const auto [rest, why] = std::from_chars(text.data(), end, number);
  return why == std::errc() && rest == end;
}

} // namespace

CLI::Validator whole_number(std::uint64_t least, std::uint64_t most) {
  const auto check = [least, most](std::string& text) -> std::string {
    std::uint64_t number = 0;
    const bool canonical = reads(text, number) && fmt::to_string(number) == text;
    if (canonical && number >= least && number <= most) return "";
    return fmt::format("found `{}`; expected a whole number from {} to {}, without leading zeros", text,
                       least, most);
  };
  return {check, fmt::format("{} to {}", least, most)};
}

CLI::Validator number_between(double least, double most) {
  const auto check = [least, most](std::string& text) -> std::string {
    double number = 0;
    if (reads(text, number) && number >= least && number <= most) return "";
    return fmt::format("found `{}`; expected a number from {} to {}", text, least, most);
  };
  return {check, fmt::format("{} to {}", least, most)};
}

} // namespace corewise::command
