#pragma once

#include <compare>
#include <cstdint>

namespace corewise::detail {

/// A position in a text: line and column from 1, columns in characters.
struct text_position {
  std::uint32_t line = 1;
  std::uint32_t column = 1;

  auto operator<=>(const text_position&) const = default;
};

} // namespace corewise::detail
