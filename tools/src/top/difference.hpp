#pragma once

#include "reading.hpp"

#include <optional>
#include <string>
#include <vector>

// The difference of two readings.

namespace corewise::command {

/// Quantiles of times, within a factor of two.
struct quantiles {
  std::uint64_t samples = 0;
  std::optional<double> p50_s; ///< an upper bound; nothing, with samples: above all bounds
  std::optional<double> p99_s;
};

/// The activity of a group, or of several together, between two readings.
struct group_activity {
  std::string kind;
  std::uint64_t workers = 0;
  std::uint64_t capacity = 0;
  std::uint64_t load = 0; ///< now
  std::uint64_t standing = 0;
  double busy_s = 0;
  std::uint64_t executed = 0;
  std::array<std::uint64_t, steal_levels> stolen{};
  std::map<std::string, time_counts> waits;

  std::uint64_t stolen_in_all() const noexcept;
  group_activity& operator+=(const group_activity& other);
};

struct activity {
  /// The time between the readings. Nothing: there is one reading, and the counts are those since the engine
  /// began.
  std::optional<double> interval_s;
  bool restarted = false; ///< the engine began between the readings
  std::uint64_t finished = 0;
  std::uint64_t failed = 0;
  std::uint64_t refused = 0;
  std::uint64_t spares_exhausted = 0;
  double throttled_s = 0;
  std::vector<group_activity> groups; ///< in the order of the reading's

  group_activity in_all() const;
  /// Returns the sums over each kind of core; the most capable first.
  std::vector<group_activity> by_kind() const;
  /// Returns the part of their time for which these workers were busy, at most 1. Nothing: it is not known.
  std::optional<double> busy_share(const group_activity& of) const noexcept;
};

/// `before`: may be null. Where counts are lower than before, the engine has begun anew.
activity between(const reading* before, const reading& now);

/// Returns the counts of all classes together.
time_counts all_classes(const std::map<std::string, time_counts>& of);
quantiles quantiles_of(const time_counts& counts, const std::vector<double>& bounds_s);

} // namespace corewise::command
