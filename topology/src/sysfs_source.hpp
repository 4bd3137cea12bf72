#pragma once

#include "scan.hpp"

#include <filesystem>

namespace corewise::detail {

/// Looks at a machine through sysfs below `root` alone, without hwloc: hwloc takes another root from the
/// environment only, which must not be changed beside other threads. Throws `topology_error` when there is no
/// CPU below `root`.
machine_scan scan_sysfs(const std::filesystem::path& root);

/// Reads which CPUs each node is home to, as the kernel says, beside `scan.nodes`.
void read_kernel_nodes(const std::filesystem::path& root, machine_scan& scan);

} // namespace corewise::detail
