#pragma once

#include <string>
#include <string_view>

namespace corewise::command {

/// A file for results that take long to make: it checks before that work whether it can be written.
class output_file {
 public:
  /// Checks the file. Throws `std::system_error` that names the file, where it exists already (unless
  /// `replace`) or cannot be written.
  output_file(std::string name, bool replace);
  /// Writes the file. A file that exists is replaced as a whole, by a new one with its permissions; if that
  /// fails, the old one stays as it was. A device is written into. Throws `std::system_error` that names the
  /// file.
  void write(std::string_view text) const;

 private:
  std::string name_;
  bool replace_;
};

} // namespace corewise::command
