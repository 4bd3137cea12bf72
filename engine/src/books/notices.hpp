#pragma once

#include <corewise/engine/detail/lock.hpp>
#include <corewise/engine/engine.hpp>
#include <corewise/engine/log_record.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace corewise::detail {

/// The warnings of an engine, which also go to the user's log hooks. Any thread.
class notices {
 public:
  /// All arguments outlive it.
  notices(const engine_hooks& hooks, std::string_view engine) noexcept : hooks_(hooks), engine_(engine) {}

  void warn(log_code code, std::string text);
  /// Warns unless the same text is among the warnings.
  void warn_once(log_code code, const std::string& text);
  /// Warns of `what` and, if there is memory for the text, of `why`, once. Call from any thread.
  void try_warn_once(log_code code, const char* what, std::string_view why = {}) noexcept;
  /// Logs a report of what goes on now, and keeps the first reports among the warnings.
  void report(const log_record& record);
  /// Logs only.
  void log(log_record record) const;
  /// Logs the exception that is in flight.
  void log_failure() const noexcept;
  std::vector<std::string> warnings() const;

 private:
  void log_failure_of(const char* what) const noexcept;

  const engine_hooks& hooks_;
  const std::string_view engine_;
  mutable mutex mutex_;
  std::vector<std::string> warnings_; // guarded
  std::size_t reports_ = 0;           // guarded
};

} // namespace corewise::detail
