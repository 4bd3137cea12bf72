#pragma once

#include <corewise/topology/topology.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// Processes that share a machine by agreement: each takes its share of the cores, and leaves the rest to the others.

namespace corewise {

/// The most sharers of a machine.
inline constexpr std::uint32_t most_sharers = 64;

/// One that takes part: a daemon, or one engine of several in it.
struct sharer {
  std::string name;
  std::uint32_t weight = 100; ///< 1 to 10,000
  cpu_set cpus;               ///< that the host allows it

  friend bool operator==(const sharer&, const sharer&) = default;
};

/// Returns the CPUs of the share of `all[own]`. Cores that the same sharers may use are divided by weight, kind by kind, in
/// whole cores that stand together in the machine; what rounding takes away at one kind is given at the next. A sharer
/// for which no core is left shares one with its neighbour. All sharers that see the same list divide in the same way.
/// At most `most_sharers`.
cpu_set share_of(const topology& machine, const std::vector<sharer>& all, std::size_t own);

} // namespace corewise
