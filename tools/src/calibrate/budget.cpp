#include "budget.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace corewise::command {

std::optional<std::chrono::nanoseconds> parse_budget(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, double>, 3> units{
      {{"ms", 1e6}, {"s", 1e9}, {"min", 6e10}}};
  constexpr double day = 86'400e9;
  double value = 0;
  const auto [rest, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc{}) return std::nullopt;
  const std::string_view unit = text.substr(static_cast<std::size_t>(rest - text.data()));
  const auto found = std::ranges::find(units, unit, &std::pair<std::string_view, double>::first);
  if (found == units.end()) return std::nullopt;
  const double ns = value * found->second;
  if (!(ns >= 0 && ns <= day)) return std::nullopt; // "inf" and "nan" fail, too
  return std::chrono::nanoseconds(std::llround(ns));
}

} // namespace corewise::command
