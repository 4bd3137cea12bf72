#pragma once

#include <corewise/simulator/simulation.hpp>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace corewise {

/// What one profile came to.
struct profile_runs {
  std::string profile;                 ///< what it is called
  std::vector<simulation_result> runs; ///< one for each seed, at least one

  /// Whether its figures mean nothing: the p99 of the runs' second halves, together, is not within 5% of that of their
  /// first halves. They were too short, or never settled.
  bool is_void() const noexcept;
};

/// Profiles side by side under one workload, all with the same seeds: they have met the same tasks.
struct simulation_report {
  std::string machine;              ///< where it is from, `topology::source()`
  std::string workload;             ///< `describe`d
  std::uint64_t tasks = 0;          ///< asked for in each run
  std::vector<std::uint64_t> seeds; ///< of the runs of each profile
  std::vector<profile_runs> profiles;
};

/// A table for people. Figures are medians over the seeds; of the p99 also the least and the most. Any thread, as all here.
std::string to_text(const simulation_report& report);
/// JSON: an object with the machine, the workload, the seeds, the tasks, and one object for each profile with all figures, the
/// units in their names (docs/command.md).
std::string to_json(const simulation_report& report);
/// A line for each profile of each report below a line of names, which are those of the JSON with dots between the levels.
std::string to_csv(const std::vector<simulation_report>& reports);

/// Charts cannot be drawn. `what()` says why, and what to do.
class chart_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws `chart_error` unless gnuplot can be run.
void check_charts();
/// Draws `DIR/NAME-response.svg`, which share of the responses took how long under each profile, and, of the runs with
/// `simulation_options::samples`, `DIR/NAME-load-N.svg`, the load of each group over time under the N-th profile. What
/// gnuplot was told stays beside them as `.gnuplot`. Answers the files drawn. Throws `chart_error`,
/// `std::filesystem::filesystem_error`.
std::vector<std::filesystem::path>
draw_charts(const simulation_report& report, const std::filesystem::path& directory, const std::string& name);

} // namespace corewise
