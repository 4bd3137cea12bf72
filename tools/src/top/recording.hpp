#pragma once

#include "reading.hpp"

#include <fstream>
#include <optional>
#include <string>
#include <string_view>

// Readings as lines of JSON: {"at_seconds": 1.5, "reasons": [...], "metrics": {...}, "stuck": [...]}. `metrics` is
// what the server says; `stuck` are the seats in its dump whose tasks are stuck, or null where there is no dump.

namespace corewise::command {

/// Returns the reading in a line. Throws `reading_error`.
reading reading_in(const json& line);

/// A file that readings are written into as they come.
class recording {
 public:
  /// Makes the file. Throws `std::system_error` that names the file, where it exists already or cannot be made.
  explicit recording(std::string file);
  recording(const recording&) = delete;
  recording& operator=(const recording&) = delete;
  ~recording();

  /// Throws `std::system_error` that names the file.
  void add(const json& recorded) const;

 private:
  std::string file_;
  int fd_;
};

/// Reads a recorded file, line by line. "-" is standard input.
class replay {
 public:
  /// Throws `std::system_error` that names the file.
  explicit replay(std::string file);

  const std::string& name() const noexcept { return name_; }
  /// Returns the next reading, or nothing at the end. Throws `reading_error` that names the file and the line.
  std::optional<reading> next();

 private:
  std::optional<std::string> next_line();

  std::string name_;
  std::ifstream in_;
  std::size_t line_ = 0;
  double last_s_ = -1;
};

} // namespace corewise::command
