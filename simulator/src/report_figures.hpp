#pragma once

#include <corewise/simulator/report.hpp>

namespace corewise {

/// A number from a run, with its unit in its name.
struct figure {
  std::vector<std::string> path; ///< its name in JSON, level by level
  double value = 0;

  std::string name() const; ///< with dots between the levels
};

/// All numbers of a run, in the order of the report; the same names for all runs on machines with the same
/// kinds.
std::vector<figure> figures_of(const simulation_result& result);

/// The medians over the runs, and the figures that only several runs have.
std::vector<figure> figures_of(const profile_runs& runs);

/// The median of numbers, of which there must be at least one.
double median(std::vector<double> numbers);

} // namespace corewise
