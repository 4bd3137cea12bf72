#pragma once

#include "text_position.hpp"

#include <corewise/engine/profile.hpp>

#include <set>
#include <string>
#include <vector>

namespace corewise::detail {

/// The errors of one file, as they are found.
class issue_list {
 public:
  /// More issues than people read. The rest is counted only, so that a hostile file cannot make megabytes of
  /// messages.
  static constexpr std::size_t most = 1000;

  explicit issue_list(std::string file) : file_(std::move(file)) {}

  void add(text_position at, const std::string& key, const std::string& message);
  bool empty() const noexcept { return issues_.empty(); }
  /// Returns whether there is an issue at `key`, above it or below it.
  bool concerns(const std::string& key) const;

  /// Throws `profile_error` with all issues in the order of their positions, if there are any.
  void throw_if_any() &&;

 private:
  std::string file_;
  std::vector<profile_issue> issues_;
  std::set<std::string> keys_;
  std::size_t left_out_ = 0;
};

/// Returns the issue of a file that could not be read.
profile_issue unreadable(const std::string& file, const std::string& message);

} // namespace corewise::detail
