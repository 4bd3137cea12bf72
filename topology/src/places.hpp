#pragma once

#include "scan.hpp"

namespace corewise::detail {

/// Returns the nodes of a machine, and decides the home of every CPU that lies in one: where the kernel says;
/// else ordinary memory before special, then the smallest node, then one with memory, then the lowest number.
std::vector<numa_node> place_nodes(const machine_scan& scan);

/// Leaves only `cpus` in the packages, nodes, caches and kinds. Nodes stay, even without CPUs.
void restrict_places(machine_facts& facts, const cpu_set& cpus);

/// Returns the cores of `facts.cpus`, with their places and their kind.
std::vector<core> place_cores(const machine_facts& facts, const std::vector<cpu_set>& cores);

} // namespace corewise::detail
