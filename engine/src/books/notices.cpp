#include "books/notices.hpp"

#include <corewise/engine/this_task.hpp>

#include <algorithm>
#include <exception>

namespace corewise {

std::string_view to_string(log_severity severity) noexcept {
  return severity == log_severity::error ? "error" : "warning";
}

std::string_view to_string(log_code code) noexcept {
  switch (code) {
  case log_code::shared_cpus: return "shared_cpus";
  case log_code::not_pinned: return "not_pinned";
  case log_code::not_on_node: return "not_on_node";
  case log_code::hint_without_effect: return "hint_without_effect";
  case log_code::no_supervision: return "no_supervision";
  case log_code::stuck_worker: return "stuck_worker";
  case log_code::out_of_spare_threads: return "out_of_spare_threads";
  case log_code::task_failed: return "task_failed";
  case log_code::work_left: return "work_left";
  case log_code::not_steered: return "not_steered";
  case log_code::accept_paused: return "accept_paused";
  case log_code::machine_changed: return "machine_changed";
  case log_code::machine: break;
  }
  return "machine";
}

namespace detail {

void notices::log(log_record record) const {
  record.engine = engine_;
  if (hooks_.log) hooks_.log(record.text);
  if (hooks_.on_log_record) hooks_.on_log_record(record);
}

void notices::warn(log_code code, std::string text) {
  log({.code = code, .text = text});
  const std::scoped_lock lock(mutex_);
  warnings_.push_back(std::move(text));
}

void notices::warn_once(log_code code, const std::string& text) {
  {
    const std::scoped_lock lock(mutex_);
    if (std::find(warnings_.begin(), warnings_.end(), text) != warnings_.end()) return;
  }
  warn(code, text);
}

void notices::try_warn_once(log_code code, const char* what, std::string_view why) noexcept {
  try {
    warn_once(code, why.empty() ? std::string(what) : std::string(what) + ": " + std::string(why));
  } catch (const std::bad_alloc&) {
    try {
      warn_once(code, what);
    } catch (const std::bad_alloc&) {
      log({.code = code, .text = what});
    }
  }
}

void notices::report(const log_record& record) {
  constexpr std::size_t kept = 32; // a daemon may run for years
  {
    const std::scoped_lock lock(mutex_);
    if (reports_ < kept) warnings_.emplace_back(record.text);
    ++reports_;
  }
  log(record);
}

void notices::log_failure_of(const char* what) const noexcept {
  constexpr std::string_view ended = "an exception ended a task";
  log_record record{.severity = log_severity::error, .code = log_code::task_failed, .text = ended};
  if (const char* const name = this_task::name()) record.task_name = name;
  record.task_id = this_task::id();
  std::string text;
  try {
    if (what != nullptr) record.text = text = std::string(ended) + ": " + what;
  } catch (const std::bad_alloc&) {
    record.text = ended;
  }
  log(record);
}

void notices::log_failure() const noexcept {
  if (!hooks_.log && !hooks_.on_log_record) return;
  try {
    throw;
  } catch (const std::exception& e) {
    log_failure_of(e.what());
  } catch (...) {
    log_failure_of(nullptr);
  }
}

std::vector<std::string> notices::warnings() const {
  const std::scoped_lock lock(mutex_);
  return warnings_;
}

} // namespace detail

} // namespace corewise
