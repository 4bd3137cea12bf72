#pragma once

#include "calibration.hpp"

namespace corewise::command {

/// Writes the machine file with the findings. It leaves out the figures that were not measured, so that the
/// defaults hold; a comment says why.
std::string machine_text(const calibration& found);

/// How many figures a machine file has, and how many it lacks.
struct figure_count {
  std::size_t measured = 0;
  std::size_t missing = 0;
};
figure_count count_figures(const calibration& found);

} // namespace corewise::command
