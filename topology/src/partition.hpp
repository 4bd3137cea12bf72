#pragma once

#include <corewise/topology/groups.hpp>

namespace corewise::detail {

/// Returns the groups of a machine in the order of their numbers, complete except for `steal_order`.
std::vector<locality_group> partition_into_groups(const topology& machine, const grouping_options& options);

} // namespace corewise::detail
