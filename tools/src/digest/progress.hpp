#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace corewise::command {

struct digest_count {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
};

/// Writes bytes in the largest unit (powers of 1000) that leaves a number of at least 1, such as "1.2 GB".
std::string with_unit(double bytes);

/// One line on standard error that says how far the work is. The next line replaces it.
class progress {
 public:
  static constexpr std::chrono::milliseconds interval{200};

  explicit progress(bool enabled) : enabled_(enabled) {}

  /// Returns whether an interval has passed since the last line; looks at the clock at every 64th call only.
  bool is_due();
  void show(const digest_count& so_far);
  /// Removes the line, so that something else can be printed in its place.
  void clear();

 private:
  using clock = std::chrono::steady_clock;

  bool enabled_;
  bool shown_ = false;
  unsigned calls_ = 0;
  clock::time_point begin_ = clock::now();
  clock::time_point last_ = begin_;
};

} // namespace corewise::command
