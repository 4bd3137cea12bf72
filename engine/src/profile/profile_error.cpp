#include <corewise/engine/profile.hpp>

#include <fmt/format.h>

namespace corewise {

namespace {

std::string lines_of(const std::vector<profile_issue>& issues) {
  std::string lines;
  for (const profile_issue& issue : issues) {
    if (!lines.empty()) lines += '\n';
    lines += issue.to_string();
  }
  return lines;
}

} // namespace

std::string profile_issue::to_string() const {
  std::string text = file;
  if (line != 0) text += fmt::format("{}{}:{}", text.empty() ? "" : ":", line, column);
  if (!text.empty()) text += ": ";
  if (!key.empty()) text += key + ": ";
  return text + message;
}

profile_error::profile_error(std::vector<profile_issue> issues)
    : std::runtime_error(lines_of(issues)),
      issues_(std::move(issues)) {}

} // namespace corewise
