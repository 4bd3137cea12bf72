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

/// Names the profile that the figures are of.
std::string best_of(const tuning_result& r) {
  return r.shipped.empty() ? "The best profile of the search" : "The shipped profile " + r.shipped;
}

std::string verdict(const tuning_result& r, const tuning_options& options) {
  if (r.gained) return "Gain: " + sentence(r.over_start, options.goal, "the start");
  if (r.changes.empty())
    return "No gain beyond luck: on this machine, under this profile, there is nothing to search.";
  if (!is_changed(r) && r.shipped.empty())
    return "No gain beyond luck: the search found nothing better than the start, which is kept.";
  const std::string found = sentence(r.over_start, options.goal, "the start");
  if (!r.p99_kept && r.over_start.beyond_luck)
    return fmt::format("No gain: the changes that save energy make the p99 of the response time more than a "
                       "tenth worse, or may do so. {} The start is kept.",
                       found);
  if (r.over_start.certain())
    return fmt::format(
        "No gain that is worth a change. {} has {} That is not luck, but less than 0.5%. The start is kept.",
        best_of(r), found);
  return fmt::format("No gain beyond luck. {} has {} The start is kept.", best_of(r), found);
}

/// Says which shipped profile the answer is, or comes from; "" for none.
std::string descent(const tuning_result& r) {
  if (!r.gained || (r.shipped.empty() && r.basis.empty())) return "";
  const std::string kept =
      "What the simulator does not model, and what bounds memory, stays that of the start.";
  if (r.shipped.empty())
    return fmt::format("The search has changed the shipped profile {}. {}", r.basis, kept);
  return fmt::format("This is the shipped profile {}, which no profile of the search surpassed. {}",
                     r.shipped, kept);
}

/// Compares the figures with those of the shipped profiles, in one sentence.
std::string beside_purposes(const tuning_result& r, tuning_goal goal) {
  std::string list;
  for (const auto& p : r.over_purposes)
    list += fmt::format("{}{} than with {}", list.empty() ? "" : ", ", change_of(p.over.ratio, goal), p.name);
  return fmt::format("Beside the {}shipped profiles, {}: {}.", r.shipped.empty() ? "" : "other ",
                     detail::subject_of(goal), list);
}

/// Says what a user pays: CPU time of idle workers, wake-ups and energy.
std::string price(const tuning_result& r) {
  const tuning_figures& now = r.of_candidate;
  const tuning_figures& before = r.of_start;
  std::string energy; // a machine may need none
  if (before.joules_per_task > 0)
    energy = fmt::format("; {} energy per task",
                         change_of(now.joules_per_task / before.joules_per_task, tuning_goal::energy));
  return fmt::format("The cost: workers are awake without a task for {:.1f}% of their time (with the start "
                     "{:.1f}%); {:.2g} wake-ups a task ({:.2g}){}.",
                     100 * now.awake_share, 100 * before.awake_share, now.wake_ups_per_task,
                     before.wake_ups_per_task, energy);
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
  to.push_back(fmt::format("On the seeds of the search: {}{}.", change_of(r.searched_ratio, options.goal),
                           r.shipped.empty() ? "; this figure flatters" : ""));
}

} // namespace

std::vector<std::string> findings(const tuning_result& r, const tuning_options& options) {
  std::vector<std::string> lines{verdict(r, options)};
  const bool found = is_changed(r) || !r.shipped.empty();
  if (std::string from = descent(r); !from.empty()) lines.push_back(std::move(from));
  if (found) add_figures(lines, r, options);
  if (!r.over_purposes.empty()) lines.push_back(beside_purposes(r, options.goal));
  if (r.gained) lines.push_back(price(r));
  lines.insert(lines.end(), options.assumed.begin(), options.assumed.end());
  if (!options.energy_assumed.empty() && (r.gained || options.goal == tuning_goal::energy))
    lines.push_back(options.energy_assumed);
  return lines;
}

} // namespace corewise
