#pragma once

#include <corewise/topology/discovery.hpp>

namespace corewise::detail {

/// Returns the CPUs of `facts` that a selection leaves.
/// Throws `topology_error` when the selection names something that the machine does not have, and when
/// nothing is left.
cpu_set select_cpus(const machine_facts& facts, const machine_description::selection& use);

} // namespace corewise::detail
