#pragma once

#include "scan.hpp"

#include <corewise/topology/discovery.hpp>

namespace corewise::detail {

/// Looks at a source through hwloc, with the CPUs that hwloc's default flags allow.
/// Throws `topology_error` when the source is missing, is not of its format, or has no CPU.
machine_scan scan_xml(const xml_source& source);
machine_scan scan_synthetic(const synthetic_source& source);
/// Looks at the machine that the process runs on.
machine_scan scan_this_machine();

} // namespace corewise::detail
