#include "findings.hpp"

#include <fmt/format.h>

#include <cmath>

namespace corewise {

namespace detail {

std::string_view subject_of(tuning_goal goal) {
  switch (goal) {
  case tuning_goal::p99: return "p99 of the response time";
  case tuning_goal::throughput: return "tasks a second";
  case tuning_goal::energy: return "energy per task";
  }
  return "";
}

std::string_view name_of(tuning_goal goal) {
  switch (goal) {
  case tuning_goal::p99: return "p99";
  case tuning_goal::throughput: return "throughput";
  case tuning_goal::energy: return "energy";
  }
  return "";
}

} // namespace detail

namespace {

/// Writes a change, such as "2.1% less". Figures are costs; for throughput it tells the change of the rate
/// instead.
std::string change_of(double ratio, tuning_goal goal) {
  const double shown = 100 * ((goal == tuning_goal::throughput ? 1 / ratio : ratio) - 1);
  return fmt::format("{:.1f}% {}", std::abs(shown), shown > 0 ? "more" : "less");
}

std::string range_of(const tuning_comparison& c, tuning_goal goal) {
  return fmt::format("with 99% certainty from {} to {}", change_of(c.high, goal), change_of(c.low, goal));
}

std::string sentence(const tuning_comparison& c, tuning_goal goal, std::string_view beside) {
  return fmt::format("{}: {} than with {}; {}.", detail::subject_of(goal), change_of(c.ratio, goal), beside,
                     range_of(c, goal));
}

bool is_changed(const tuning_result& r) {
  for (const auto& c : r.changes)
    if (c.before != c.after) return true;
  return false;
}

bool began_with_defaults(const tuning_result& r) {
  for (const auto& c : r.changes)
    if (c.before != c.field.read(profile{})) return false;
  return r.tuned.name == profile{}.name;
}

std::string verdict(const tuning_result& r, const tuning_options& options) {
  if (r.gained) return "Gain: " + sentence(r.over_start, options.goal, "the start");
  if (r.changes.empty())
    return "No gain beyond luck: on this machine, under this profile, there is nothing to search.";
  if (!is_changed(r))
    return "No gain beyond luck: the search found nothing better than the start, which is kept.";
  const std::string found = sentence(r.over_start, options.goal, "the start");
  if (!r.p99_kept && r.over_start.beyond_luck)
    return fmt::format("No gain: the changes that save energy make the p99 of the response time more than a "
                       "tenth worse, or may do so. {} The start is kept.",
                       found);
  if (r.over_start.certain())
    return fmt::format(
        "No gain that is worth a change. The best profile of the search has {} That is not luck, but "
        "less than 1%. The start is kept.",
        found);
  return fmt::format("No gain beyond luck. The best profile of the search has {} The start is kept.", found);
}

/// Adds more figures about the changes.
void add_figures(std::vector<std::string>& to, const tuning_result& r, const tuning_options& options) {
  if (r.gained && !began_with_defaults(r))
    to.push_back(fmt::format("{}{}",
                             r.over_default.beyond_luck ? "" : "No gain beyond luck over the defaults: ",
                             sentence(r.over_default, options.goal, "the defaults")));
  if (options.goal != tuning_goal::p99)
    to.push_back(sentence(r.p99_over_start, tuning_goal::p99, "the start"));
  if (options.workloads > 1)
    for (std::size_t w = 0; w < r.by_workload.size(); ++w)
      to.push_back(fmt::format("Workload {} alone: {}; {}.", w + 1,
                               change_of(r.by_workload[w].ratio, options.goal),
                               range_of(r.by_workload[w], options.goal)));
  to.push_back(fmt::format("On the seeds of the search: {}; this figure flatters.",
                           change_of(r.searched_ratio, options.goal)));
}

} // namespace

std::vector<std::string> findings(const tuning_result& r, const tuning_options& options) {
  std::vector<std::string> lines{verdict(r, options)};
  if (is_changed(r)) add_figures(lines, r, options);
  lines.insert(lines.end(), options.assumed.begin(), options.assumed.end());
  return lines;
}

} // namespace corewise
