#pragma once

#include <string>
#include <string_view>

namespace corewise::command {

/// A file for what takes long to make: whether it can be written is seen before that.
class output_file {
 public:
  /// Throws `std::system_error` naming the file, where it is there already (unless `replace`) or cannot be written.
  output_file(std::string name, bool replace);
  /// Throws `std::system_error` naming the file.
  void write(std::string_view text) const;

 private:
  std::string name_;
  bool replace_;
};

} // namespace corewise::command
