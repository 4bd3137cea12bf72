#include <corewise/simulator/workload.hpp>

#include <cmath>

namespace corewise {

double service_time::mean() const noexcept {
  if (shape != kind::bimodal) return mean_ns;
  return (1 - rare_share) * mean_ns + rare_share * rare_ns;
}

double service_time::draw(random_stream& random) const noexcept {
  switch (shape) {
  case kind::fixed: break;
  case kind::exponential: return mean_ns * random.exponential();
  case kind::lognormal: {
    // ln X is normal; its variance and mean follow from those of X.
    const double variance = std::log1p(deviation * deviation);
    return mean_ns * std::exp(std::sqrt(variance) * random.normal() - variance / 2);
  }
  case kind::bimodal: return random.uniform() < rare_share ? rare_ns : mean_ns;
  case kind::pareto: {
    const double least = mean_ns * (exponent - 1) / exponent;
    return least * std::pow(1 - random.uniform(), -1 / exponent);
  }
  }
  return mean_ns;
}

} // namespace corewise
