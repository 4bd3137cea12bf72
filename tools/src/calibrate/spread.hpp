#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace corewise::command {

/// The summary of a figure that was measured many times.
struct spread {
  double median = 0;
  double p10 = 0;
  double p90 = 0;
  double quarters = 0; ///< from the 25th to the 75th percentile: half of the samples lie in it
  std::size_t samples = 0;

  /// A spread is noisy if half of the samples differ by more than this share of the median.
  static constexpr double noise = 0.3;
  bool noisy() const noexcept { return quarters > noise * median; }
};

/// Fewer samples than this are no figure.
inline constexpr std::size_t fewest_samples = 5;

/// The value below which `part` (0..1) of the values lie, interpolated between two of them. `sorted` is not
/// empty.
double quantile(const std::vector<double>& sorted, double part) noexcept;
/// Summarises samples. Returns nothing when there are fewer than `fewest_samples`.
std::optional<spread> spread_of(std::vector<double> samples);

/// The geometric mean of values above 0, of which there must be at least one.
double geometric_mean(const std::vector<double>& values) noexcept;

} // namespace corewise::command
