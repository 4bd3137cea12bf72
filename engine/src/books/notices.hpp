#pragma once

#include <corewise/engine/detail/lock.hpp>
#include <corewise/engine/engine.hpp>

#include <string>
#include <vector>

namespace corewise::detail {

/// The warnings of an engine, which also go to the user's log. Any thread.
class notices {
 public:
  /// `hooks` outlive it.
  explicit notices(const engine_hooks& hooks) noexcept : hooks_(hooks) {}

  void warn(std::string text);
  /// Warns unless the same text is among the warnings.
  void warn_once(const std::string& text);
  /// Logs the report, and keeps the first reports among the warnings.
  void report_stuck(std::string text);
  /// Logs the exception that is in flight.
  void log_failure() const noexcept;
  std::vector<std::string> warnings() const;

 private:
  const engine_hooks& hooks_;
  mutable mutex mutex_;
  std::vector<std::string> warnings_; // guarded
  std::size_t stuck_reports_ = 0;     // guarded
};

} // namespace corewise::detail
