#pragma once

#include <filesystem>
#include <string>

namespace corewise::detail {

/// Reads the text of an hwloc XML file and checks it before hwloc sees it. hwloc would take a missing file
/// for the machine at hand, and it overflows its stack on deeply nested text. Throws `topology_error` when
/// the file is missing, unreadable, not a file, too large, not XML of hwloc's format 2, or nested too deeply.
std::string read_hwloc_xml(const std::filesystem::path& file);

/// Throws `topology_error` when a synthetic description has more CPUs or NUMA nodes than a `cpu_set` can
/// name; hwloc would try to build such a machine.
void check_synthetic_size(const std::string& text);

} // namespace corewise::detail
