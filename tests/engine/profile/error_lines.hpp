#pragma once

#include <corewise/engine/profile.hpp>

#include <string>
#include <vector>

namespace corewise::tests {

using line_list = std::vector<std::string>;

/// The lines of the error that `read` throws; none when it throws none.
template <class Read> line_list error_lines(Read read) {
  line_list lines;
  try {
    read();
  } catch (const profile_error& error) {
    for (const profile_issue& issue : error.issues()) lines.push_back(issue.to_string());
  }
  return lines;
}

/// What is wrong with a profile, called "f" in the lines.
inline line_list errors_in(std::string_view yaml) {
  return error_lines([&] { (void)parse_profile(yaml, "f"); });
}

/// The one line that is wrong, or all of them.
inline std::string error_in(std::string_view yaml) {
  std::string all;
  for (const std::string& line : errors_in(yaml)) all += (all.empty() ? "" : "\n") + line;
  return all;
}

} // namespace corewise::tests
