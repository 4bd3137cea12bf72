#include "runs.hpp"
#include "search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace corewise {

namespace {

using detail::equal;
using detail::figure_table;
using clock = std::chrono::steady_clock;

void check(const profile& start, const tuning_options& options) {
  if (const auto issues = check_profile(start); !issues.empty())
    throw std::invalid_argument("the profile to begin with: " + issues.front().to_string());
  if (options.workloads == 0 || options.seeds == 0 || options.held_out < 2)
    throw std::invalid_argument("tuning needs a workload, a seed to search on and two seeds to judge on");
}

std::chrono::nanoseconds nanoseconds_of(double count) {
  return std::chrono::nanoseconds(static_cast<std::int64_t>(count));
}

/// A profile that the answer may be.
struct contender {
  std::string name; ///< of a purpose; empty: what the search has found
  profile made;
  double searched_cost = 0; ///< on the seeds of the search
  figure_table held_out = {};
  tuning_comparison over_start = {};
  bool p99_kept = true;
};

/// Returns the purposes beside a start, without those that equal it or cannot be had beside it.
std::vector<contender> beside(const profile& start, std::span<const profile> purposes) {
  std::vector<contender> list;
  for (const profile& purpose : purposes) {
    profile made = with_purpose(start, purpose);
    if (equal(made, start) || !check_profile(made).empty()) continue;
    list.push_back({.name = purpose.name, .made = std::move(made)});
  }
  return list;
}

bool is_better(const contender& a, const contender& b) {
  if (a.p99_kept != b.p99_kept) return a.p99_kept;
  return a.over_start.ratio < b.over_start.ratio;
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
        options_(options),
        purposes_(beside(start, options.purposes)) {}

  tuning_result run() {
    const auto began = clock::now();
    const figure_table beginning = runs(start_, searched());
    const auto until = deadline(began, clock::now() - began);
    for (contender& c : purposes_) c.searched_cost = cost_beside(beginning, c.made);
    judge(search_on(beginning, until));
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

  /// Returns the time to stop the search, such that the rest ends with the budget, but not before half of the
  /// budget has passed. Tells if the budget is too small for the rest alone.
  clock::time_point deadline(clock::time_point began, clock::duration one_profile) const {
    if (options_.budget >= std::chrono::hours{24 * 365}) return clock::time_point::max();
    const auto purposes = static_cast<double>(purposes_.size());
    const auto one = static_cast<double>(one_profile.count());
    const double judging = (3 + purposes) * options_.held_out / options_.seeds;
    const double reserved = (judging + static_cast<double>(fields_.size())) * one;
    const auto budget = static_cast<double>(options_.budget.count());
    if (reserved > budget && options_.over_budget)
      options_.over_budget(nanoseconds_of(reserved + (1 + purposes) * one)); // the first ones as well
    return began + nanoseconds_of(std::max(budget - reserved, budget / 2));
  }

  double cost_beside(const figure_table& beginning, const profile& p) {
    return detail::searched_cost(runs(p, searched()), beginning, options_.goal);
  }

  /// Searches from the best of the start and the purposes. Returns what it has found.
  contender search_on(const figure_table& beginning, clock::time_point deadline) {
    contender best{.name = "", .made = start_};
    for (const contender& c : purposes_)
      if (c.searched_cost < best.searched_cost - detail::worth_a_change) best = c;
    const auto cost = [&](const profile& p) { return cost_beside(beginning, p); };
    detail::search s(best.made, best.searched_cost, fields_, cost, {options_.evaluations, deadline});
    s.progress = options_.progress;
    s.run();
    result_.evaluations = s.evaluations();
    result_.exhausted = s.exhausted();
    s.take_back_what_is_for_nothing(start_);
    if (!equal(s.basis(), start_)) result_.basis = best.name;
    return {.name = "", .made = with_values(s.basis(), fields_, s.best()), .searched_cost = s.best_cost()};
  }

  /// Judges what the search has found, and all purposes, on the held-out seeds.
  void judge(contender found) {
    std::vector<contender> all = std::move(purposes_);
    if (std::ranges::none_of(all, [&](const contender& c) { return equal(c.made, found.made); }))
      all.insert(all.begin(), std::move(found));
    const figure_table start = runs(start_, held_out());
    const profile defaults = defaults_beside(start_);
    const figure_table of_defaults = equal(defaults, start_) ? start : runs(defaults, held_out());
    for (contender& c : all) {
      c.held_out = equal(c.made, start_) ? start : runs(c.made, held_out());
      judge_beside(start, c, all.size());
    }
    const contender& best = *std::ranges::min_element(all, is_better);
    tell(best, start, all.size());
    result_.over_default = over(best, of_defaults, all.size());
    for (const contender& c : all)
      if (&c != &best && !c.name.empty())
        result_.over_purposes.push_back({c.name, over(best, c.held_out, all.size())});
  }

  tuning_comparison over(const contender& c, const figure_table& other, std::size_t judged) const {
    return compare(detail::mean_log_ratios(c.held_out, other, options_.goal), judged);
  }

  void judge_beside(const figure_table& start, contender& c, std::size_t judged) const {
    c.over_start = over(c, start, judged);
    if (options_.goal != tuning_goal::energy) return;
    for (std::size_t w = 0; w < options_.workloads; ++w)
      if (compare(detail::log_ratios(c.held_out[w], start[w], tuning_goal::p99), judged).high >
          detail::p99_ratio_most)
        c.p99_kept = false;
  }

  /// Writes the figures of the best into the result.
  void tell(const contender& best, const figure_table& start, std::size_t judged) {
    if (!best.name.empty()) result_.basis.clear();
    result_.shipped = best.name;
    result_.candidate = best.made;
    for (const tuned_field& f : fields_) result_.changes.push_back({f, f.read(start_), f.read(best.made)});
    result_.searched_ratio = std::exp(best.searched_cost);
    result_.over_start = best.over_start;
    result_.p99_kept = best.p99_kept;
    result_.p99_over_start = compare(detail::mean_log_ratios(best.held_out, start, tuning_goal::p99), judged);
    for (std::size_t w = 0; w < options_.workloads; ++w)
      result_.by_workload.push_back(
          compare(detail::log_ratios(best.held_out[w], start[w], options_.goal), judged));
    result_.of_start = detail::mean_figures(start);
    result_.of_candidate = detail::mean_figures(best.held_out);
    result_.gained = best.over_start.beyond_luck && best.p99_kept;
    result_.tuned = result_.gained ? best.made : start_;
  }

  engine& engine_;
  const profile& start_;
  std::vector<tuned_field> fields_;
  const tuning_objective& objective_;
  const tuning_options& options_;
  std::vector<contender> purposes_;
  tuning_result result_;
};

} // namespace

tuning_result tune(engine& e, const profile& start, std::vector<tuned_field> fields,
                   const tuning_objective& objective, const tuning_options& options) {
  check(start, options);
  return tuning(e, start, std::move(fields), objective, options).run();
}

} // namespace corewise
