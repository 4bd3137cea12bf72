#pragma once

#include <string>

namespace corewise::emulated {

/// Counts the comparisons, and says what differs on standard output.
class verdict {
 public:
  void same(const std::string& what, const std::string& is, const std::string& should_be);

  int passed() const noexcept { return passed_; }
  int failed() const noexcept { return failed_; }

 private:
  int passed_ = 0;
  int failed_ = 0;
};

} // namespace corewise::emulated
