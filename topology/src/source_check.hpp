#pragma once

#include <filesystem>
#include <string>

namespace corewise::detail {

/// Reads the text of an hwloc XML file and checks it before hwloc sees it. hwloc would take a missing file
/// for the machine at hand, and it overflows its stack on deeply nested text. Throws `topology_error` when
/// the file is missing, unreadable, not a file, too large, not XML of hwloc's format 2, nested too deeply, or
/// of a machine that is larger than `machine_size.hpp` allows.
std::string read_hwloc_xml(const std::filesystem::path& file);

/// Throws `topology_error` when a synthetic description has more than `machine_size.hpp` allows; hwloc would
/// try to build such a machine.
void check_synthetic_size(const std::string& text);

} // namespace corewise::detail
