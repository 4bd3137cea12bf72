#include "runs.hpp"
#include "search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace corewise {

namespace {

using detail::figure_table;
using clock = std::chrono::steady_clock;

void check(const profile& start, const tuning_options& options) {
  if (const auto issues = check_profile(start); !issues.empty())
    throw std::invalid_argument("the profile to begin with: " + issues.front().to_string());
  if (options.workloads == 0 || options.seeds == 0 || options.held_out < 2)
    throw std::invalid_argument("tuning needs a workload, a seed to search on and two seeds to judge on");
}

/// Tuning on an engine with an objective, step by step.
class tuning {
 public:
  tuning(engine& e, const profile& start, std::vector<tuned_field> fields, const tuning_objective& objective,
         const tuning_options& options)
      : engine_(e),
        start_(start),
        fields_(std::move(fields)),
        objective_(objective),
        options_(options) {}

  tuning_result run() {
    const auto began = clock::now();
    const figure_table beginning = runs(start_, searched());
    search_on(beginning, deadline(began, clock::now() - began));
    judge();
    return std::move(result_);
  }

 private:
  struct seeds {
    std::uint64_t first;
    std::uint32_t count;
  };
  seeds searched() const { return {options_.first_seed, options_.seeds}; }
  seeds held_out() const { return {options_.first_seed + options_.seeds, options_.held_out}; }

  figure_table runs(const profile& p, seeds s) {
    return detail::run_all(engine_, objective_, p, options_.workloads, s.first, s.count, options_.goal);
  }

  /// The time to stop the search, such that the rest ends with the budget, but not before half of the budget
  /// has passed.
  clock::time_point deadline(clock::time_point began, clock::duration one_profile) const {
    if (options_.budget >= std::chrono::hours{24 * 365}) return clock::time_point::max();
    const double judging = 3.0 * options_.held_out / options_.seeds;
    const double reserved =
        (judging + static_cast<double>(fields_.size())) * static_cast<double>(one_profile.count());
    const auto budget = static_cast<double>(options_.budget.count());
    return began +
           std::chrono::nanoseconds(static_cast<std::int64_t>(std::max(budget - reserved, budget / 2)));
  }

  void search_on(const figure_table& beginning, clock::time_point deadline) {
    const auto cost = [&](const profile& p) {
      return detail::searched_cost(runs(p, searched()), beginning, options_.goal);
    };
    detail::search s(start_, fields_, cost, {options_.evaluations, deadline});
    s.progress = options_.progress;
    s.run();
    result_.evaluations = s.evaluations();
    result_.exhausted = s.exhausted();
    s.take_back_what_is_for_nothing();
    result_.searched_ratio = std::exp(s.best_cost());
    result_.candidate = with_values(start_, fields_, s.best());
    for (std::size_t i = 0; i < fields_.size(); ++i)
      result_.changes.push_back({fields_[i], fields_[i].read(start_), s.best()[i]});
  }

  bool is_changed() const {
    return std::ranges::any_of(result_.changes, [](const auto& c) { return c.before != c.after; });
  }

  void judge() {
    const figure_table start = runs(start_, held_out());
    const figure_table found = is_changed() ? runs(result_.candidate, held_out()) : start;
    const figure_table defaults = runs(defaults_beside(start_), held_out());
    const tuning_goal goal = options_.goal;
    result_.over_start = compare(detail::mean_log_ratios(found, start, goal));
    result_.over_default = compare(detail::mean_log_ratios(found, defaults, goal));
    result_.p99_over_start = compare(detail::mean_log_ratios(found, start, tuning_goal::p99));
    for (std::size_t w = 0; w < options_.workloads; ++w) judge_workload(found[w], start[w]);
    result_.gained = result_.over_start.beyond_luck && result_.p99_kept;
    result_.tuned = result_.gained ? result_.candidate : start_;
  }

  void judge_workload(std::span<const tuning_figures> found, std::span<const tuning_figures> start) {
    result_.by_workload.push_back(compare(detail::log_ratios(found, start, options_.goal)));
    if (options_.goal == tuning_goal::energy &&
        compare(detail::log_ratios(found, start, tuning_goal::p99)).high > detail::p99_ratio_most)
      result_.p99_kept = false;
  }

  engine& engine_;
  const profile& start_;
  std::vector<tuned_field> fields_;
  const tuning_objective& objective_;
  const tuning_options& options_;
  tuning_result result_;
};

} // namespace

tuning_result tune(engine& e, const profile& start, std::vector<tuned_field> fields,
                   const tuning_objective& objective, const tuning_options& options) {
  check(start, options);
  return tuning(e, start, std::move(fields), objective, options).run();
}

} // namespace corewise
