#include <corewise/simulator/tune.hpp>

#include <boost/math/distributions/students_t.hpp>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace corewise {

namespace {

constexpr double certainty = 0.99;
/// The median ratio below which a gain is worth a change. So a start that is kept is at most 0.5% behind a
/// shipped profile, but for luck.
constexpr double worth_a_claim = 0.995;

double mean_of(std::span<const double> values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}

double median_of(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

/// Half the width of Student's interval of the mean, for one of so many means that all shall lie in theirs.
double half_width(std::span<const double> values, double mean, std::size_t means) {
  double squares = 0;
  for (const double v : values) squares += (v - mean) * (v - mean);
  const auto n = static_cast<double>(values.size());
  const boost::math::students_t student(n - 1);
  const double beyond = (1 - certainty) / static_cast<double>(means) / 2; // on each side
  return boost::math::quantile(boost::math::complement(student, beyond)) * std::sqrt(squares / (n - 1) / n);
}

} // namespace

tuning_comparison compare(std::span<const double> log_ratios, std::size_t judged) {
  if (log_ratios.size() < 2) throw std::invalid_argument("a comparison needs at least two pairs of runs");
  if (judged == 0) throw std::invalid_argument("a comparison is of at least one profile");
  const double mean = mean_of(log_ratios);
  const double half = half_width(log_ratios, mean, judged);
  tuning_comparison c;
  c.ratio = std::exp(mean);
  c.low = std::exp(mean - half);
  c.high = std::exp(mean + half);
  c.median = std::exp(median_of(log_ratios));
  c.beyond_luck = c.high < 1 && c.median < worth_a_claim;
  return c;
}

} // namespace corewise
