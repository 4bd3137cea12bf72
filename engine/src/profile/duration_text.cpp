#include "duration_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>

namespace corewise::detail {

namespace {

using rep = std::int64_t;

struct duration_unit {
  std::string_view name;
  rep ns;
};

constexpr std::array<duration_unit, 7> units{{{"ns", 1},
                                              {"us", 1'000},
                                              {"µs", 1'000},
                                              {"ms", 1'000'000},
                                              {"s", 1'000'000'000},
                                              {"min", 60'000'000'000},
                                              {"h", 3'600'000'000'000}}};

/// Takes the decimal digits off the front of `text`.
std::optional<rep> take_digits(std::string_view& text) {
  rep value = 0;
  if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

/// Takes the part after the point, in ns: ".25" of a unit of 1000 ns is 250.
std::optional<rep> take_fraction(std::string_view& text, rep unit_ns) {
  if (!text.starts_with('.')) return 0;
  text.remove_prefix(1);
  const std::size_t before = text.size();
  const std::optional<rep> digits = take_digits(text);
  const std::size_t places = before - text.size();
  if (!digits || places > 9) return std::nullopt;
  rep scale = 1;
  for (std::size_t i = 0; i < places; ++i) scale *= 10;
  // At most 1e9 × 3.6e12, which does not fit into 64 bits.
  __extension__ using wide = __int128;
  const wide scaled = static_cast<wide>(*digits) * unit_ns;
  if (scaled % scale != 0) return std::nullopt;
  return static_cast<rep>(scaled / scale);
}

std::string_view unit_of(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of("0123456789."), text.size()));
}

} // namespace

std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text) {
  const auto unit = std::ranges::find(units, unit_of(text), &duration_unit::name);
  if (unit == units.end()) return std::nullopt;
  const std::optional<rep> whole = take_digits(text);
  if (!whole || *whole > std::numeric_limits<rep>::max() / unit->ns - 1) return std::nullopt;
  const std::optional<rep> fraction = take_fraction(text, unit->ns);
  if (!fraction || text != unit->name) return std::nullopt;
  return std::chrono::nanoseconds(*whole * unit->ns + *fraction);
}

std::string to_text(std::chrono::nanoseconds duration) {
  const rep ns = duration.count();
  const duration_unit* best = &units[0];
  for (const duration_unit& unit : units)
    if (ns != 0 && ns % unit.ns == 0 && unit.name != "µs") best = &unit;
  return fmt::format("{}{}", ns / best->ns, ns == 0 ? "us" : best->name);
}

} // namespace corewise::detail
