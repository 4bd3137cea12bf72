#include "runs.hpp"

#include <corewise/engine/parallel_for.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace corewise {

double tuning_figures::of(tuning_goal goal) const noexcept {
  switch (goal) {
  case tuning_goal::p99: return p99_ns;
  case tuning_goal::throughput: return ns_per_task;
  case tuning_goal::energy: return joules_per_task;
  }
  return p99_ns;
}

namespace detail {

namespace {

constexpr double penalty = 20; ///< for each unit of the logarithm by which the 99th percentile is too large

bool usable(double figure) { return std::isfinite(figure) && figure > 0; }

/// Throws if a run lacks a figure. A ratio needs both figures; each goal also looks at a percentile.
void check(const tuning_figures& f, std::size_t workload, std::uint64_t seed, tuning_goal goal) {
  if (usable(f.of(goal)) && usable(f.p99_ns)) return;
  throw std::runtime_error(
      fmt::format("workload {} with seed {} has no figures to compare (p99 {} ns, {} ns and {} J per task); "
                  "does it end tasks, and does the machine describe the energy of its cores?",
                  workload + 1, seed, f.p99_ns, f.ns_per_task, f.joules_per_task));
}

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

template <class F> task<void> side_by_side(std::size_t count, F run_one) {
  co_await parallel_for(std::size_t{0}, count, std::move(run_one));
}

} // namespace

figure_table run_all(engine& e, const tuning_objective& objective, const profile& p, std::size_t workloads,
                     std::uint64_t first, std::uint32_t count, tuning_goal goal) {
  figure_table table(workloads, std::vector<tuning_figures>(count));
  const auto run_one = [&](std::size_t i) {
    table[i / count][i % count] = objective(p, i / count, first + i % count);
  };
  e.run(side_by_side(workloads * count, run_one)).get();
  for (std::size_t w = 0; w < workloads; ++w)
    for (std::uint32_t s = 0; s < count; ++s) check(table[w][s], w, first + s, goal);
  return table;
}

std::vector<double> log_ratios(std::span<const tuning_figures> a, std::span<const tuning_figures> b,
                               tuning_goal goal) {
  std::vector<double> ratios(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) ratios[i] = std::log(a[i].of(goal) / b[i].of(goal));
  return ratios;
}

std::vector<double> mean_log_ratios(const figure_table& a, const figure_table& b, tuning_goal goal) {
  std::vector<double> means(a.front().size(), 0.0);
  for (std::size_t w = 0; w < a.size(); ++w) {
    const std::vector<double> ratios = log_ratios(a[w], b[w], goal);
    for (std::size_t s = 0; s < means.size(); ++s) means[s] += ratios[s] / static_cast<double>(a.size());
  }
  return means;
}

tuning_figures mean_figures(const figure_table& table) {
  tuning_figures sum;
  double count = 0;
  for (const auto& runs : table)
    for (const tuning_figures& f : runs) {
      sum.p99_ns += f.p99_ns;
      sum.ns_per_task += f.ns_per_task;
      sum.joules_per_task += f.joules_per_task;
      sum.awake_share += f.awake_share;
      sum.wake_ups_per_task += f.wake_ups_per_task;
      ++count;
    }
  return {.p99_ns = sum.p99_ns / count,
          .ns_per_task = sum.ns_per_task / count,
          .joules_per_task = sum.joules_per_task / count,
          .awake_share = sum.awake_share / count,
          .wake_ups_per_task = sum.wake_ups_per_task / count};
}

double searched_cost(const figure_table& candidate, const figure_table& start, tuning_goal goal) {
  double cost = mean_of(mean_log_ratios(candidate, start, goal));
  if (goal != tuning_goal::energy) return cost;
  for (std::size_t w = 0; w < candidate.size(); ++w) {
    const double worse = mean_of(log_ratios(candidate[w], start[w], tuning_goal::p99));
    cost += penalty * std::max(0.0, worse - std::log(p99_ratio_most));
  }
  return cost;
}

} // namespace detail

} // namespace corewise
