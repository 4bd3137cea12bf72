#pragma once

#include "../json_text.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

// The figures of an engine at one moment, for `corewise top`.

namespace corewise::command {

/// A text that is no reading.
struct reading_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline constexpr std::size_t steal_levels = 5;

/// Counts of times; `counts[i]` are at most `bounds_s[i]` of the reading, the last ones above all bounds.
using time_counts = std::vector<std::uint64_t>;

struct group_reading {
  std::uint64_t id = 0;
  std::string kind; ///< of its cores; empty: not known
  std::uint64_t workers = 0;
  std::uint64_t capacity = 0; ///< of all its workers; one on the fastest kind has 1024
  std::uint64_t load = 0;
  std::uint64_t standing = 0;
  double busy_s = 0;
  std::uint64_t executed = 0;
  std::array<std::uint64_t, steal_levels> stolen{};
  std::map<std::string, time_counts> waits; ///< by class
};

struct stuck_task {
  std::uint64_t worker = 0;
  std::uint64_t group = 0;
  std::string name; ///< of the task, or else its kind
  double age_s = 0;
};

struct reading {
  double at_s = 0; ///< since 1970
  std::string health;
  std::vector<std::string> reasons;
  std::uint64_t finished = 0;
  std::uint64_t failed = 0;
  std::uint64_t refused = 0;
  std::uint64_t in_flight = 0;
  std::uint64_t timers_pending = 0;
  std::uint64_t queued_injection = 0;
  std::uint64_t queued_latency = 0;
  std::uint64_t queued_background = 0;
  std::uint64_t spares = 0;
  std::uint64_t spares_exhausted = 0;
  std::uint64_t waiting_for_a_seat = 0;
  std::uint64_t blocking_waiting = 0;
  double cpu_quota = 0; ///< CPUs; 0: there is none
  double throttled_s = 0;
  std::uint64_t machine_changes = 0;
  std::string last_machine_change; ///< empty: there was none, or the daemon does not tell
  std::vector<double> bounds_s;
  std::vector<group_reading> groups;            ///< by id
  std::optional<std::vector<stuck_task>> stuck; ///< nothing: names are not shown at that address
};

/// Returns what an admin server says in JSON under `/metrics?detail=groups`. Throws `reading_error`.
reading reading_of(const json& metrics);
/// Returns the tasks that `/dump` says are stuck, those that run longest first. Throws `reading_error`.
std::vector<stuck_task> stuck_tasks_of(const json& dump);

} // namespace corewise::command
