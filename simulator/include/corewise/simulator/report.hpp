#pragma once

#include <corewise/simulator/simulation.hpp>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace corewise {

/// The runs of one profile.
struct profile_runs {
  std::string profile;                 ///< the profile's name
  std::vector<simulation_result> runs; ///< one for each seed, at least one

  /// Returns whether the profile's figures mean nothing: the p99 of the runs' second halves, together, is not
  /// within 5% of that of their first halves. The runs were too short, or never settled.
  bool is_void() const noexcept;
};

/// Profiles side by side under one workload, all with the same seeds, so that they have met the same tasks.
struct simulation_report {
  std::string machine;              ///< the machine's source, `topology::source()`
  std::string workload;             ///< `describe`d
  std::uint64_t tasks = 0;          ///< asked for in each run
  std::vector<std::uint64_t> seeds; ///< of the runs of each profile
  std::vector<profile_runs> profiles;
};

/// Writes a table for people. Figures are medians over the seeds; for the p99 it has also the least and the
/// most. Any thread, as all here.
std::string to_text(const simulation_report& report);
/// Writes JSON: an object with the machine, the workload, the seeds, the tasks, and one object for each
/// profile with all figures, the units in their names (docs/command.md).
std::string to_json(const simulation_report& report);
/// Writes a line of names, and below it a line for each profile of each report. The names are those of the
/// JSON, with dots between the levels.
std::string to_csv(const std::vector<simulation_report>& reports);

/// An error of drawing charts. `what()` says why they cannot be drawn, and what to do.
class chart_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws `chart_error` unless gnuplot can be run.
void check_charts();
/// Draws `DIR/NAME-response.svg`, which share of the responses took how long under each profile, and, of the
/// runs with `simulation_options::samples`, `DIR/NAME-load-N.svg`, the load of each group over time under the
/// N-th profile. The input of gnuplot stays beside them as `.gnuplot`. Returns the drawn files. Throws
/// `chart_error`, `std::filesystem::filesystem_error`.
std::vector<std::filesystem::path>
draw_charts(const simulation_report& report, const std::filesystem::path& directory, const std::string& name);

} // namespace corewise
