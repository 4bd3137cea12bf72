#pragma once

#include <corewise/topology/groups.hpp>
#include <corewise/topology/topology.hpp>
#include <corewise/topology/workers.hpp>

#include <string>

namespace corewise {

/// Returns the machine as an engine divides it, as JSON on one line (docs/command.md). CPU lists are strings
/// such as "0-3,8", unknown facts are null. Any thread.
std::string machine_json(const topology& machine, const locality_groups& groups,
                         const worker_layout& workers);

} // namespace corewise
