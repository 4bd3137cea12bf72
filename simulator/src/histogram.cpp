#include <corewise/simulator/histogram.hpp>

#include <algorithm>
#include <bit>

namespace corewise {

namespace {

// The buckets are HdrHistogram's: values below 256 have buckets of width 1; from there on each power of two
// has 128 of equal width.
constexpr int bits = 7;
constexpr std::uint64_t per_power = std::uint64_t{1} << bits;
constexpr std::uint64_t largest = std::uint64_t{1} << 62;

std::uint64_t scale_of(std::uint64_t value) noexcept {
  return value < per_power ? 0 : static_cast<std::uint64_t>(std::bit_width(value) - 1 - bits);
}

std::size_t bucket_of(std::uint64_t value) noexcept {
  const std::uint64_t scale = scale_of(value);
  return scale * per_power + (value >> scale);
}

double begin_of(std::size_t bucket) noexcept {
  if (bucket < per_power) return static_cast<double>(bucket);
  const std::uint64_t scale = bucket / per_power - 1;
  return static_cast<double>((bucket - scale * per_power) << scale);
}

} // namespace

histogram::histogram() : buckets_(bucket_of(largest) + 1) {}

void histogram::add(double value) noexcept {
  const double kept =
      value > 0 ? std::min(value, static_cast<double>(largest)) : 0; // what is no number is 0, too
  ++buckets_[bucket_of(static_cast<std::uint64_t>(kept))];
  ++count_;
  sum_ += kept;
  max_ = std::max(max_, kept);
}

void histogram::add(const histogram& other) noexcept {
  for (std::size_t i = 0; i < buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  sum_ += other.sum_;
  max_ = std::max(max_, other.max_);
}

double histogram::quantile(double q) const noexcept {
  if (count_ == 0) return 0;
  const double rank = std::clamp(q, 0.0, 1.0) * static_cast<double>(count_);
  double below = 0;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    if (buckets_[i] == 0) continue;
    const auto here = static_cast<double>(buckets_[i]);
    if (below + here >= rank) {
      const double begin = begin_of(i);
      const double end = std::min(begin_of(i + 1), max_);
      return begin + (end - begin) * (rank - below) / here;
    }
    below += here;
  }
  return max_;
}

std::vector<std::pair<double, double>> histogram::cumulative() const {
  std::vector<std::pair<double, double>> points;
  std::uint64_t so_far = 0;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    if (buckets_[i] == 0) continue;
    so_far += buckets_[i];
    points.emplace_back(std::min(begin_of(i + 1), max_),
                        static_cast<double>(so_far) / static_cast<double>(count_));
  }
  return points;
}

} // namespace corewise
