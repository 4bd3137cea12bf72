#pragma once

#include <corewise/engine/metrics.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Each metric is described once, for all forms of the output and for docs/metrics.md.

namespace corewise::detail {

/// The most series of an engine in an exposition, unless more is asked for.
inline constexpr std::size_t most_series = 500;

enum class metric_type : std::uint8_t { counter, gauge };
std::string_view to_string(metric_type type) noexcept;

/// A number of `Of`. Rows in sequence with one name differ in the value of their label; their sum means
/// something.
template <class Of> struct metric_row {
  std::string_view name; ///< a scraper sees it after `corewise_`, and with `_total` if it is of a counter
  metric_type type;
  std::string_view unit; ///< of what is shown
  std::string_view help;
  std::uint64_t (*value)(const Of& of); ///< of seconds and CPUs: in billionths
  std::string_view label{};
  std::string_view label_value{};
  /// The rules in configs/prometheus/alerts.yaml that read it, separated by blanks; in the first row of the name.
  std::string_view alerts{};
  bool by_kind = false; ///< a scraper sees sums over all groups by kind of core
};

/// Times of `Of`: one histogram, or one for each class.
template <class Of> struct histogram_row {
  std::string_view name; ///< in seconds
  std::string_view help;
  std::span<const time_histogram> (*value)(const Of& of);
  std::string_view alerts{};
};

/// Calls `f(label, times)` for each histogram of the row; `label`: the class, or empty. Classes that have
/// had no tasks are left out, except the normal one.
template <class Of, class F> void for_each_class(const histogram_row<Of>& row, const Of& of, const F& f) {
  const std::span<const time_histogram> times = row.value(of);
  if (times.size() == 1) return f(std::string_view(), times.front());
  for (const task_class which : {task_class::normal, task_class::latency, task_class::background}) {
    const time_histogram& of_class = times[static_cast<std::size_t>(which)];
    if (which == task_class::normal || of_class.count() != 0) f(to_string(which), of_class);
  }
}

std::span<const metric_row<metrics_snapshot>> engine_rows() noexcept;
/// Of the process and its control group: the same in all engines.
std::span<const metric_row<metrics_snapshot>> process_rows() noexcept;
std::span<const metric_row<worker_metrics>> worker_rows() noexcept; ///< of a worker, or the sum of several
std::span<const histogram_row<worker_metrics>> worker_times() noexcept;
std::span<const metric_row<io_metrics>> io_rows() noexcept; ///< of a group, or the sum of several
std::span<const histogram_row<io_metrics>> io_times() noexcept;

/// Returns the sums of each group that has workers, by group.
std::vector<worker_metrics> by_group(const std::vector<worker_metrics>& workers);

/// Returns whether values of that unit are in billionths.
inline bool in_billionths(std::string_view unit) noexcept { return unit == "seconds" || unit == "cpus"; }
inline double seconds(std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); }
/// Returns a value as text.
std::string value_text(std::uint64_t value, std::string_view unit);
template <class Of> std::string value_text(const metric_row<Of>& row, const Of& of) {
  return value_text(row.value(of), row.unit);
}

} // namespace corewise::detail
