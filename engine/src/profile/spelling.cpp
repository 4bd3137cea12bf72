#include "spelling.hpp"

#include "quotation.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace corewise::detail {

namespace {

/// Keys are shorter; a hostile key of 100 KB is as far from all of them as its beginning is.
constexpr std::size_t longest_word = 64;

std::size_t common_beginning(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

} // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  a = a.substr(0, longest_word);
  b = b.substr(0, longest_word);
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string_view nearest_word(std::string_view word, std::span<const std::string> words) {
  std::string_view nearest;
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const std::string& w : words) {
    const std::size_t distance = edit_distance(word, w);
    if (distance > least ||
        (distance == least && common_beginning(word, w) <= common_beginning(word, nearest)))
      continue;
    least = distance;
    nearest = w;
  }
  return nearest;
}

bool looks_like(std::string_view word, std::string_view meant) {
  if (word.empty() || meant.empty()) return false;
  return edit_distance(word, meant) <= std::max<std::size_t>(1, std::min(word.size(), meant.size()) / 3);
}

std::string did_you_mean(std::string_view word, std::span<const std::string> words) {
  const std::string_view nearest = nearest_word(word, words);
  return looks_like(word, nearest) ? "; did you mean " + quote(nearest) + '?' : "";
}

} // namespace corewise::detail
