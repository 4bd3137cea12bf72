#pragma once

#include <corewise/topology/discovery.hpp>

namespace corewise::detail {

/// Returns the CPUs of `facts` that a selection leaves. Adds a warning to `facts` when `use.cpus` names CPUs
/// that cannot be used here. Throws `topology_error` when the selection names a package, a node or a kind
/// that the machine does not have, and when nothing is left.
cpu_set select_cpus(machine_facts& facts, const machine_description::selection& use);

} // namespace corewise::detail
