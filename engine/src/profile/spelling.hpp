#pragma once

#include <span>
#include <string>
#include <string_view>

namespace corewise::detail {

/// Returns how many letters must be inserted, deleted, replaced or swapped with their neighbour to make one
/// word of the other. Source: the optimal string alignment distance (Damerau 1964,
/// doi:10.1145/363958.363994).
std::size_t edit_distance(std::string_view a, std::string_view b);

/// Returns the word nearest to `word`, the first of equally near ones; "" when there are none.
std::string_view nearest_word(std::string_view word, std::span<const std::string> words);

/// Returns whether a person who wrote `word` may well have meant `meant`.
bool looks_like(std::string_view word, std::string_view meant);

/// Returns "; did you mean "x"?" when one of the words looks like `word`, else "".
std::string did_you_mean(std::string_view word, std::span<const std::string> words);

} // namespace corewise::detail
