#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace corewise {

/// How often which values occurred, to one part in 128: buckets whose width grows with the value. Constant
/// memory (about 60 KB), constant time to add. A value below 0 counts as 0, a value above 2^62 as 2^62.
class histogram {
 public:
  histogram();
  void add(double value) noexcept;
  void add(const histogram& other) noexcept;

  std::uint64_t count() const noexcept { return count_; }
  double mean() const noexcept { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }
  double max() const noexcept { return max_; }
  /// The least value that a share q (0..1) of all values do not exceed, interpolated within its bucket; 0
  /// when there are no values.
  double quantile(double q) const noexcept;
  /// (value, share of all values that do not exceed it), ascending, one for each bucket that is not empty.
  std::vector<std::pair<double, double>> cumulative() const;

 private:
  std::vector<std::uint64_t> buckets_;
  std::uint64_t count_ = 0;
  double sum_ = 0;
  double max_ = 0;
};

} // namespace corewise
