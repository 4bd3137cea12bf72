#pragma once

#include "scan.hpp"

#include <corewise/topology/discovery.hpp>

namespace corewise::detail {

/// Looks at a source through hwloc, with the CPUs that hwloc's default flags allow.
/// Throws `topology_error` when the source is missing, not what it should be, or without a CPU.
machine_scan scan_xml(const xml_source& source);
machine_scan scan_synthetic(const synthetic_source& source);
/// The machine at hand.
machine_scan scan_this_machine();

} // namespace corewise::detail
