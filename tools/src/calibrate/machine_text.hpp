#pragma once

#include "calibration.hpp"

namespace corewise::command {

/// The machine file that says what was found. What was not measured is left out, so that the defaults hold; a comment says why.
std::string machine_text(const calibration& found);

/// How many figures it has, and how many it lacks.
struct figure_count {
  std::size_t measured = 0;
  std::size_t missing = 0;
};
figure_count count_figures(const calibration& found);

} // namespace corewise::command
