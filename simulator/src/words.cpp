#include "words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>
#include <vector>

namespace corewise::simulated_words {

namespace {

struct unit {
  std::string_view name;
  double ns;
};

constexpr std::array<unit, 4> units{{{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}}};

/// How many letters to insert, delete or replace (Levenshtein).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, replaced});
    }
  }
  return row.back();
}

} // namespace

std::string in_quotes(std::string_view text) {
  constexpr std::size_t most = 60;
  std::string result = "\"";
  for (const char c : text.substr(0, most)) {
    const bool printable = static_cast<unsigned char>(c) >= ' ' && c != 0x7f;
    result += printable ? c : '?';
  }
  return result + (text.size() > most ? "...\"" : "\"");
}

std::string joined(std::span<const std::string_view> words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string suggestion(std::string_view word, std::span<const std::string_view> words) {
  constexpr std::size_t longest = 24;
  if (word.empty() || word.size() > longest || words.empty()) return "";
  const auto mean = [](std::string_view w) { return fmt::format("; did you mean \"{}\"?", w); };
  for (const std::string_view w : words)
    if (w.starts_with(word)) return mean(w); // cut short
  const auto far = [word](std::string_view w) { return distance(word, w); };
  const std::string_view nearest = std::ranges::min(words, {}, far);
  if (far(nearest) <= std::max<std::size_t>(1, std::min(word.size(), nearest.size()) / 2))
    return mean(nearest);
  for (const std::string_view w : words)
    if (word.starts_with(w)) return mean(w); // written out
  return "";
}

std::optional<double> read_number(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(number)) return std::nullopt;
  return number;
}

std::optional<std::uint64_t> read_count(std::string_view text, std::uint64_t most) {
  std::uint64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc{} || end != text.data() + text.size() || count > most) return std::nullopt;
  return count;
}

std::optional<double> read_duration(std::string_view text) {
  for (const unit& u : units) { // a text that ends in "ms" ends in "s" as well, but is no number without "s"
    if (!text.ends_with(u.name)) continue;
    const std::optional<double> number = read_number(text.substr(0, text.size() - u.name.size()));
    if (number && *number >= 0 && std::isfinite(*number * u.ns)) return *number * u.ns;
  }
  return std::nullopt;
}

std::string number_text(double number) { return fmt::format("{}", number); }

std::string duration_text(double ns) {
  for (const unit& u : units)
    if (ns >= u.ns) {
      const std::string text = number_text(ns / u.ns) + std::string(u.name);
      if (read_duration(text) == ns) return text;
    }
  return number_text(ns) + "ns";
}

} // namespace corewise::simulated_words
