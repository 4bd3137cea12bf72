#include "books/notices.hpp"

#include <algorithm>
#include <exception>

namespace corewise::detail {

void notices::warn(std::string text) {
  if (hooks_.log) hooks_.log(text);
  const std::scoped_lock lock(mutex_);
  warnings_.push_back(std::move(text));
}

void notices::warn_once(const std::string& text) {
  {
    const std::scoped_lock lock(mutex_);
    if (std::find(warnings_.begin(), warnings_.end(), text) != warnings_.end()) return;
  }
  warn(text);
}

void notices::report_stuck(std::string text) {
  constexpr std::size_t kept = 32; // a daemon may run for years
  {
    const std::scoped_lock lock(mutex_);
    if (stuck_reports_ < kept) warnings_.push_back(text);
    ++stuck_reports_;
  }
  if (hooks_.log) hooks_.log(text);
}

void notices::log_failure() const noexcept {
  if (!hooks_.log) return;
  try {
    throw;
  } catch (const std::exception& e) {
    hooks_.log(std::string("an exception ended a task: ") + e.what());
  } catch (...) {
    hooks_.log("an exception ended a task");
  }
}

std::vector<std::string> notices::warnings() const {
  const std::scoped_lock lock(mutex_);
  return warnings_;
}

} // namespace corewise::detail
