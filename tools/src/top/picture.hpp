#pragma once

#include "../style.hpp"
#include "difference.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace corewise::command {

/// The style of the picture, and the room for it.
struct frame {
  style look{false, false};
  std::size_t columns = 80;
  std::size_t rows = 0;        ///< 0: as many as it takes
  std::string source;          ///< where the readings come from
  std::string note;            ///< such as why there is no newer reading; may be empty
  std::size_t first_group = 0; ///< the place in the list from which groups are shown, where not all fit
};

struct picture {
  std::vector<std::string> lines; ///< without their ends
  std::size_t first_group = 0;    ///< that is shown
  std::size_t groups_shown = 0;
  std::size_t furthest = 0; ///< the greatest `first_group` that there is
};

/// Draws a reading, and what has happened before it.
picture picture_of(const reading& now, const activity& before, const frame& in);

/// Write a number in few columns: "12", "3.4", "9999", "12.3k".
std::string short_number(double number);
/// Write a time in few columns: "16us", "1.0ms", "8.4s".
std::string short_time(double seconds);

} // namespace corewise::command
