#include "kind_speed.hpp"

#include <corewise/topology/topology.hpp>

#include <algorithm>

namespace corewise::command {

namespace {

using kernel_times = std::array<std::vector<double>, kernel_names.size()>;

/// Returns the geometric mean over the kernels for each round, so that no kernel counts for more because its
/// steps are longer.
std::vector<double> rounds_of(const kernel_times& times, std::size_t rounds) {
  std::vector<double> means;
  for (std::size_t r = 0; r < rounds; ++r) {
    std::vector<double> round;
    for (const auto& kernel : times) round.push_back(kernel[r]);
    means.push_back(geometric_mean(round));
  }
  return means;
}

std::size_t rounds_in(const std::vector<kernel_times>& times) {
  std::size_t rounds = times.front().front().size();
  for (const kernel_times& kind : times)
    for (const auto& kernel : kind) rounds = std::min(rounds, kernel.size());
  return rounds;
}

} // namespace

std::vector<std::optional<spread>> capacities_of(const std::vector<kernel_times>& times) {
  const std::size_t rounds = rounds_in(times);
  std::vector<std::optional<spread>> capacities(times.size());
  if (rounds < fewest_samples) return capacities;
  std::vector<std::vector<double>> means;
  for (const kernel_times& kind : times) means.push_back(rounds_of(kind, rounds));
  const auto fastest =
      *std::ranges::min_element(means, {}, [](const auto& m) { return spread_of(m)->median; });
  for (std::size_t k = 0; k < times.size(); ++k) {
    std::vector<double> relative;
    for (std::size_t r = 0; r < rounds; ++r) relative.push_back(full_capacity * fastest[r] / means[k][r]);
    capacities[k] = spread_of(std::move(relative));
  }
  return capacities;
}

} // namespace corewise::command
