#pragma once

#include <corewise/simulator/report.hpp>

namespace corewise {

/// A number that a run came to, with its unit in its name.
struct figure {
  std::vector<std::string> path; ///< its name in JSON, level by level
  double value = 0;

  std::string name() const; ///< with dots between the levels
};

/// All numbers of a run, in the order in which they are told; the same names for all runs on machines with the same kinds.
std::vector<figure> figures_of(const simulation_result& result);

/// The medians over the runs, and what is known only of several.
std::vector<figure> figures_of(const profile_runs& runs);

/// The median of numbers, of which there is one at least.
double median(std::vector<double> numbers);

} // namespace corewise
