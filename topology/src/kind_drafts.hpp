#pragma once

#include "scan.hpp"

namespace corewise::detail {

/// The cores of one kind, before the kinds are complete.
struct draft {
  cpu_traits fastest;
  cpu_traits slowest;
  cpu_set cpus;
};

/// Sorts a machine's cores into kinds by the rules of the project. Returns them in no particular order; at
/// least one. Doubts go to `warnings`.
std::vector<draft> draft_kinds(const machine_scan& scan, std::vector<std::string>& warnings);

/// Returns which of `candidates` (indices into `kinds`) has most CPUs in the package of `core`; where none
/// has a CPU there, most CPUs at all.
std::size_t most_common_nearby(const std::vector<cpu_set>& kinds, const std::vector<std::size_t>& candidates,
                               const machine_scan& scan, const cpu_set& core);

} // namespace corewise::detail
