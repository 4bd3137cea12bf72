#pragma once

#include <corewise/engine/profile.hpp>

#include <string>
#include <vector>

namespace corewise::tests {

using line_list = std::vector<std::string>;

/// Returns the lines of the error that `read` throws; none if it throws none.
template <class Read> line_list error_lines(Read read) {
  line_list lines;
  try {
    read();
  } catch (const profile_error& error) {
    for (const profile_issue& issue : error.issues()) lines.push_back(issue.to_string());
  }
  return lines;
}

/// Returns the errors of a profile, which the lines call "f".
inline line_list errors_in(std::string_view yaml) {
  return error_lines([&] { (void)parse_profile(yaml, "f"); });
}

/// Returns the line of the one error, or the lines of all.
inline std::string error_in(std::string_view yaml) {
  std::string all;
  for (const std::string& line : errors_in(yaml)) all += (all.empty() ? "" : "\n") + line;
  return all;
}

} // namespace corewise::tests
