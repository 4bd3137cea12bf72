#pragma once

#include <string>
#include <string_view>

namespace corewise::command {

/// Returns whether the name is that of standard output: `-` or `/dev/stdout`.
bool is_standard_output(std::string_view file) noexcept;

/// A file for results that take long to make: it checks before that work whether it can be written.
class output_file {
 public:
  /// Checks the file, unless it is standard output. Throws `std::system_error` that names the file, where it
  /// exists already (unless `replace`), is a directory or cannot be written.
  output_file(std::string name, bool replace);
  /// Writes the file. A file that exists is replaced as a whole, by a new one with its permissions; if that
  /// fails, the old one stays as it was. A device or a pipe is written into, also behind a link such as
  /// /dev/stdout. Throws `std::system_error` that names the file.
  void write(std::string_view text) const;
  /// Prints a report on standard output, or beside it where that is the file.
  void print_report(std::string_view text) const;

 private:
  /// Returns the error, or 0.
  int write_file(std::string_view text) const;

  std::string name_;
  bool replace_;
};

} // namespace corewise::command
