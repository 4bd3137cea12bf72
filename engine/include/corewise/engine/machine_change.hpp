#pragma once

#include <corewise/topology/host_allowance.hpp>

#include <cstdint>
#include <string>

namespace corewise {

/// What changed of what the host allows an engine, and what it led to.
struct machine_change {
  host_allowance before;
  host_allowance now;
  std::uint32_t workers_before = 0; ///< that take tasks
  std::uint32_t workers_now = 0;
  std::string text; ///< the same for people, in one line
};

} // namespace corewise
