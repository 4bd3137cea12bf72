#pragma once

#include "small_engine.hpp"

// A machine and a body for the tests of parallel loops.

namespace corewise::tests {

/// Two packages of two fast and two slow cores each, with a worker on each core.
inline profile hybrid_profile() {
  profile p = small_profile(0);
  p.workers.total.reset();
  machine_description& machine = p.topology.machine;
  machine.source = synthetic_source{"pack:2 numa:1 l3:1 core:4 pu:1"};
  machine.kinds.push_back({.cpus = cpu_set::parse("0-1,4-5").value(), .name = "P", .capacity = 1024});
  machine.kinds.push_back({.cpus = cpu_set::parse("2-3,6-7").value(), .name = "E", .capacity = 512});
  return p;
}

/// Takes long enough that a loop of thousands is cut and dealt out.
inline void take_a_while() {
  const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds{300};
  while (std::chrono::steady_clock::now() < until) {
  }
}

} // namespace corewise::tests
