#pragma once

#include "scan.hpp"

namespace corewise::detail {

/// Cores of one kind while kinds are being made.
struct draft {
  cpu_traits fastest;
  cpu_set cpus;
};

/// Sorts a machine's cores into kinds by the rules of the project, in no particular order; at least one.
/// Doubts go to `warnings`.
std::vector<draft> draft_kinds(const machine_scan& scan, std::vector<std::string>& warnings);

/// Which of `candidates` (indices into `kinds`) has most CPUs in the package of `core`; else most CPUs at
/// all.
std::size_t most_common_nearby(const std::vector<cpu_set>& kinds, const std::vector<std::size_t>& candidates,
                               const machine_scan& scan, const cpu_set& core);

} // namespace corewise::detail
