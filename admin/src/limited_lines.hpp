#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace corewise::admin {

/// Which of the lines that strangers cause are logged, so that they do not fill a disk: ten a minute, of all together. The
/// first one after that says how many were left out.
class limited_lines {
 public:
  using time = std::chrono::steady_clock::time_point;
  static constexpr std::uint32_t most = 10;
  static constexpr std::chrono::minutes span{1};

  /// Returns the line to log, or nothing.
  std::optional<std::string> next(std::string line, time now) {
    if (!began_ || now - *began_ >= span) {
      began_ = now;
      logged_ = 0;
    }
    if (logged_ == most) {
      ++left_out_;
      return std::nullopt;
    }
    ++logged_;
    if (left_out_ != 0) line += " (" + std::to_string(left_out_) + " more such lines were left out)";
    left_out_ = 0;
    return line;
  }

 private:
  std::optional<time> began_;
  std::uint32_t logged_ = 0;
  std::uint64_t left_out_ = 0;
};

} // namespace corewise::admin
