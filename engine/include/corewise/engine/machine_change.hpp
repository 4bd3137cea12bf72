#pragma once

#include <corewise/topology/host_allowance.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace corewise {

/// A change of what the host allows an engine, or of what was measured there, and its consequences.
struct machine_change {
  host_allowance before;
  host_allowance now;
  /// The speed of each group in percent of its capacity, by how long like tasks take; empty without `topology.measure`.
  std::vector<std::uint32_t> measured;
  std::uint32_t workers_before = 0; ///< that take tasks
  std::uint32_t workers_now = 0;
  std::string text; ///< the same for people, in one line
};

} // namespace corewise
