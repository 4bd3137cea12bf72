#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace corewise::command {

enum class colour_use : std::uint8_t { automatic, always, never };

/// The role of a piece of text, from which its colour follows.
enum class ink : std::uint8_t { title, line, group, kind, number, warning, alarm };

/// The look of text at its destination: in colour or not, with box drawing or plain ASCII.
class style {
 public:
  style(bool coloured, bool unicode) : coloured_(coloured), unicode_(unicode) {}
  /// The style of standard output: colour on a terminal unless NO_COLOR is set, box drawing where the locale
  /// is UTF-8.
  static style of_standard_output(colour_use use);

  std::string paint(ink what, std::string_view text) const;
  /// Returns `fancy`, or `plain` where that cannot be shown.
  std::string_view glyph(std::string_view fancy, std::string_view plain) const {
    return unicode_ ? fancy : plain;
  }

 private:
  bool coloured_;
  bool unicode_;
};

/// Writes a number with its noun: "1 core", "2 cores".
std::string counted(std::size_t n, std::string_view what);

} // namespace corewise::command
