#pragma once

#include "scan.hpp"

#include <filesystem>

namespace corewise::detail {

/// Reads what sysfs below `root` tells about the CPUs' types and speeds into `scan.traits`. Where the scan
/// says otherwise sysfs wins, since it is indexed by CPU number, and the difference becomes a warning. Cost:
/// up to six small files a CPU.
void read_sysfs_speeds(const std::filesystem::path& root, machine_scan& scan);

} // namespace corewise::detail
