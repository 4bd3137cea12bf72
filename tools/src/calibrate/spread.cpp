#include "spread.hpp"

#include <algorithm>
#include <cmath>

namespace corewise::command {

double quantile(const std::vector<double>& sorted, double part) noexcept {
  const double at = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (at - static_cast<double>(below));
}

std::optional<spread> spread_of(std::vector<double> samples) {
  if (samples.size() < fewest_samples) return std::nullopt;
  std::ranges::sort(samples);
  return spread{quantile(samples, 0.5), quantile(samples, 0.1), quantile(samples, 0.9),
                quantile(samples, 0.75) - quantile(samples, 0.25), samples.size()};
}

double geometric_mean(const std::vector<double>& values) noexcept {
  double sum = 0;
  for (const double v : values) sum += std::log(v);
  return std::exp(sum / static_cast<double>(values.size()));
}

} // namespace corewise::command
