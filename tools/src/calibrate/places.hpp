#pragma once

#include "together.hpp"

#include <corewise/topology/groups.hpp>

#include <array>
#include <string>
#include <vector>

namespace corewise::command {

/// The pairs of CPUs between which each level is measured.
using level_pairs = std::array<std::vector<cpu_pair>, level_count>;

/// Chooses a few pairs for each level that the machine has. Two hardware threads of one core are a pair only
/// where nothing else is of that level.
level_pairs pairs_of(const topology& machine, const locality_groups& groups);
/// Says why a level has no pair, for people.
std::string why_no_pair(const topology& machine, level at);

/// Writes pairs, such as "CPUs 0 and 1, 0 and 8".
std::string told(const std::vector<cpu_pair>& pairs);

} // namespace corewise::command
