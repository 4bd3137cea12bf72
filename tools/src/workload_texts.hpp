#pragma once

#include <corewise/simulator/workload.hpp>

#include <optional>
#include <string>
#include <vector>

namespace corewise::command {

/// Reads the texts of `--workload`. Returns all workloads, or prints all errors of any and returns nothing.
std::optional<std::vector<workload>> read_workloads(const std::vector<std::string>& texts);

/// Checks the traces before a run takes long. Throws `workload_error` if a trace cannot be read.
void check_traces(const std::vector<workload>& workloads);

} // namespace corewise::command
