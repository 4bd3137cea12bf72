#pragma once

#include <corewise/simulator/tune.hpp>

#include <span>
#include <vector>

namespace corewise::detail {

/// Figures by workload, then by seed.
using figure_table = std::vector<std::vector<tuning_figures>>;

/// Runs all workloads with `count` seeds from `first` on, side by side on the engine. Throws what the objective throws,
/// `std::runtime_error` where a run has no figure of the goal.
figure_table run_all(engine& e, const tuning_objective& objective, const profile& p, std::size_t workloads,
                     std::uint64_t first, std::uint32_t count, tuning_goal goal);

/// Of each seed of one workload, the logarithm of the ratio of `a` to `b`.
std::vector<double> log_ratios(std::span<const tuning_figures> a, std::span<const tuning_figures> b,
                               tuning_goal goal);
/// The same, the mean over the workloads of each seed.
std::vector<double> mean_log_ratios(const figure_table& a, const figure_table& b, tuning_goal goal);

/// What a search makes least: the mean of all log ratios, and for `energy` much more where a workload's 99th percentile is
/// more than a tenth worse.
double searched_cost(const figure_table& candidate, const figure_table& start, tuning_goal goal);

/// So much worse the 99th percentile may be for `energy`.
inline constexpr double p99_ratio_most = 1.1;

} // namespace corewise::detail
