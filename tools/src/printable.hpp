#pragma once

#include <cstddef>
#include <string>
#include <string_view>

// Text from elsewhere, such as names of tasks, on a terminal.

namespace corewise::command {

/// Replaces what the locale cannot show, control characters among them, by question marks. Ends of lines
/// stay.
std::string printable(std::string_view text);

/// Text cut to a number of columns.
struct fitted_text {
  std::string text;
  std::size_t columns; ///< that it takes
};

/// As `printable`, but with a question mark for the end of a line as well; cuts the text.
fitted_text fitted(std::string_view text, std::size_t columns);

} // namespace corewise::command
