#pragma once

#include "machine_options.hpp"
#include "style.hpp"

#include <string>

namespace corewise::command {

/// Draws the machine as a person likes to see it: packages, nodes, caches and groups as a tree; kinds,
/// limits, steal order, distances, warnings. `all` unfolds lines that are alike.
std::string picture_of(const divided_machine& m, const style& look, bool all);

} // namespace corewise::command
