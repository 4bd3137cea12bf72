#pragma once

#include <corewise/simulator/workload.hpp>

#include <fstream>

namespace corewise {

/// Arrivals from a file, one line after another. Memory does not grow with the file or with its lines.
class trace_file {
 public:
  /// Opens the file. Throws `workload_error` if it cannot be opened.
  explicit trace_file(std::filesystem::path file);

  /// Reads the next arrival; nothing after the last. Throws `workload_error` that names file and line.
  std::optional<arrival> next();

 private:
  bool read_line(std::string_view& line);
  arrival read_arrival(std::string_view line);
  [[noreturn]] void refuse(std::string_view what) const;

  std::filesystem::path file_;
  std::ifstream in_;
  std::string buffer_;
  std::uint64_t line_ = 0;
  std::int64_t last_ns_ = 0;
  bool begun_ = false; ///< something other than comments has been seen
};

} // namespace corewise
