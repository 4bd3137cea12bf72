#pragma once

#include "style.hpp"

#include <corewise/topology/cpu_set.hpp>

#include <string>
#include <vector>

namespace corewise::command {

/// A line of a tree and the lines below it.
struct tree_line {
  std::string text;
  std::string
      shape;      ///< equal for lines that tell a person the same about different CPUs, with all below them
  cpu_set cpus;   ///< below it
  cpu_set groups; ///< numbers of the groups below it
  std::vector<tree_line> below;
};

/// Draws the lines below `root`. Of many lines alike that follow each other, it shows only the first two and
/// the last, and counts the others, unless `all`.
std::string draw_tree(const tree_line& root, const style& look, bool all);

/// Writes a list of CPUs or of groups; long ones lose their middle unless `all`.
std::string short_list(const cpu_set& set, const style& look, bool all);

} // namespace corewise::command
