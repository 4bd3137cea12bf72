#pragma once

#include <corewise/simulator/tune.hpp>

#include <span>
#include <vector>

namespace corewise::detail {

/// Figures by workload, then by seed.
using figure_table = std::vector<std::vector<tuning_figures>>;

/// Runs all workloads with `count` seeds from `first` on, side by side on the engine. Throws what the
/// objective throws, and `std::runtime_error` where a run has no figure of the goal.
figure_table run_all(engine& e, const tuning_objective& objective, const profile& p, std::size_t workloads,
                     std::uint64_t first, std::uint32_t count, tuning_goal goal);

/// The logarithm of the ratio of `a` to `b` for each seed of one workload.
std::vector<double> log_ratios(std::span<const tuning_figures> a, std::span<const tuning_figures> b,
                               tuning_goal goal);
/// The mean of these logarithms over the workloads, for each seed.
std::vector<double> mean_log_ratios(const figure_table& a, const figure_table& b, tuning_goal goal);

/// The cost that a search minimises: the mean of all log ratios, and for `energy` much more where a
/// workload's 99th percentile is more than a tenth worse.
double searched_cost(const figure_table& candidate, const figure_table& start, tuning_goal goal);

/// The means of all runs' figures.
tuning_figures mean_figures(const figure_table& table);

/// How much worse the 99th percentile may be for `energy`, as a ratio.
inline constexpr double p99_ratio_most = 1.1;

} // namespace corewise::detail
