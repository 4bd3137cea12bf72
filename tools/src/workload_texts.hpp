#pragma once

#include <corewise/simulator/workload.hpp>

#include <optional>
#include <string>
#include <vector>

namespace corewise::command {

/// What `--workload` was given: all of them, or nothing once all that is wrong with any has been said.
std::optional<std::vector<workload>> read_workloads(const std::vector<std::string>& texts);

/// Throws `workload_error`: a trace cannot be read. Before anything has taken long.
void check_traces(const std::vector<workload>& workloads);

} // namespace corewise::command
