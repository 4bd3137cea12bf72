#include "value_rule.hpp"

#include "document.hpp"
#include "duration_text.hpp"
#include "quotation.hpp"

#include <corewise/topology/cpu_set.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>

namespace corewise::detail {

namespace {

using sort = value_rule::sort;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Reads decimal digits only: no sign, no exponent, no other base, and no leading 0, which some readers take
/// for octal.
std::optional<std::uint64_t> parse_integer(std::string_view text) {
  std::uint64_t value = 0;
  if (text.empty() || !std::ranges::all_of(text, is_digit) || (text.size() > 1 && text[0] == '0'))
    return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} ? std::optional(value) : std::nullopt;
}

/// Reads digits with an optional point between them.
std::optional<double> parse_number(std::string_view text) {
  const std::size_t point = text.find('.');
  const std::string_view fraction = point == std::string_view::npos ? "0" : text.substr(point + 1);
  if (!parse_integer(text.substr(0, point)) || fraction.empty() || !std::ranges::all_of(fraction, is_digit))
    return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} ? std::optional(value) : std::nullopt;
}

/// Returns whether the ranges of a list may stand in a file; a stride such as 0-65535:1/2 has thousands.
bool may_be_written(const cpu_set& cpus) {
  constexpr std::size_t least_bytes = 2; // of a range
  std::size_t ranges = 0;
  for (const std::uint32_t cpu : cpus.to_vector()) ranges += cpu == 0 || !cpus.contains(cpu - 1) ? 1 : 0;
  return ranges * least_bytes <= scalar_bytes_max && cpus.to_string().size() <= scalar_bytes_max;
}

std::optional<setting> parse_cpu_list(const std::string& text) {
  const auto cpus = cpu_set::parse(text);
  return cpus && may_be_written(*cpus) ? std::optional<setting>(cpus->to_string()) : std::nullopt;
}

/// Writes a number as `parse_number` reads it: without an exponent.
std::string number_text(double value) {
  std::array<char, 400> digits; // the smallest one has 326
  const auto end =
      std::to_chars(digits.data(), digits.data() + digits.size(), value, std::chars_format::fixed);
  return {digits.data(), end.ptr};
}

std::optional<setting> parse_by_sort(sort what, const std::string& text) {
  switch (what) {
  case sort::word:
  case sort::flag: return std::nullopt; // they take only their words
  case sort::integer: return parse_integer(text);
  case sort::number: return parse_number(text);
  case sort::duration: return parse_duration(text);
  case sort::text: return text;
  case sort::cpu_list: return parse_cpu_list(text);
  }
  return std::nullopt;
}

bool may_be_quoted(sort what) {
  return what == sort::word || what == sort::duration || what == sort::text || what == sort::cpu_list;
}

bool is_in_range(const value_rule& rule, const std::string& text) {
  switch (rule.what) {
  case sort::text: return text.size() >= rule.min && is_one_line(text, rule.max);
  case sort::cpu_list: return parse_cpu_list(text).has_value();
  default: return false;
  }
}
bool is_in_range(const value_rule& rule, std::uint64_t value) {
  return rule.what == sort::integer && value >= rule.min && value <= rule.max &&
         (!rule.power_of_two || std::has_single_bit(value));
}
bool is_in_range(const value_rule& rule, double value) { // false for NaN
  return rule.what == sort::number && value >= static_cast<double>(rule.min) &&
         value <= static_cast<double>(rule.max);
}
bool is_in_range(const value_rule& rule, std::chrono::nanoseconds value) {
  return rule.what == sort::duration && value.count() >= 0 &&
         static_cast<std::uint64_t>(value.count()) >= rule.min &&
         static_cast<std::uint64_t>(value.count()) <= rule.max;
}

bool is_word(const value_rule& rule, const std::string& text) {
  return std::ranges::find(rule.words, text) != rule.words.end();
}

std::string to_duration_text(std::uint64_t ns) { return to_text(std::chrono::nanoseconds(ns)); }

std::string describe_by_sort(const value_rule& rule) {
  switch (rule.what) {
  case sort::word:
  case sort::flag: return "";
  case sort::integer:
    if (rule.min == rule.max) return fmt::format("{}", rule.min);
    return fmt::format("a {} from {} to {}", rule.power_of_two ? "power of two" : "whole number", rule.min,
                       rule.max);
  case sort::number: return fmt::format("a number from {} to {}", rule.min, rule.max);
  case sort::duration:
    return fmt::format("a duration with its unit from {} to {}", to_duration_text(rule.min),
                       to_duration_text(rule.max));
  case sort::text: return fmt::format("a text of {} to {} bytes in one line", rule.min, rule.max);
  case sort::cpu_list:
    return fmt::format("a list of CPUs such as \"0-3,8\", of {} bytes at most as ranges", scalar_bytes_max);
  }
  return "";
}

std::string joined(const std::vector<std::string>& parts) {
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i)
    out += (i == 0 ? "" : i + 1 == parts.size() ? " or " : ", ") + parts[i];
  return out;
}

} // namespace

std::optional<setting> read_value(const value_rule& rule, const std::string& text, bool in_quotes) {
  if (is_word(rule, text) && (!in_quotes || rule.what != sort::flag)) return text;
  if (in_quotes && !may_be_quoted(rule.what)) return std::nullopt;
  const std::optional<setting> value = parse_by_sort(rule.what, text);
  if (rule.what == sort::cpu_list) return value; // `takes` would parse the ranges once more
  return value && takes(rule, *value) ? value : std::nullopt;
}

bool takes(const value_rule& rule, const setting& value) {
  if (const auto* text = std::get_if<std::string>(&value); text && is_word(rule, *text)) return true;
  return std::visit([&](const auto& v) { return is_in_range(rule, v); }, value);
}

std::string describe(const value_rule& rule) {
  std::vector<std::string> parts = rule.words;
  if (const std::string values = describe_by_sort(rule); !values.empty()) parts.push_back(values);
  return joined(parts);
}

std::string to_text(const setting& value) {
  struct writer {
    std::string operator()(const std::string& v) const { return v; }
    std::string operator()(std::uint64_t v) const { return fmt::format("{}", v); }
    std::string operator()(double v) const { return number_text(v); }
    std::string operator()(std::chrono::nanoseconds v) const { return to_text(v); }
  };
  return std::visit(writer{}, value);
}

} // namespace corewise::detail
