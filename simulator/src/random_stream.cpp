#include <corewise/simulator/random_stream.hpp>

#include <numbers>

namespace corewise {

double random_stream::normal() noexcept {
  const double radius = std::sqrt(2 * exponential());
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

} // namespace corewise
