#pragma once

#include <cstdint>

namespace corewise::detail {

// The most that a described machine may have. hwloc compares each object with those beside it, CPU by CPU, so
// larger machines take it seconds, minutes and more. Linux has at most as many CPUs and nodes.
inline constexpr std::uint64_t most_cpus = 8192;
inline constexpr std::uint64_t most_nodes = 1024;
inline constexpr std::uint64_t most_objects = 65536; ///< of all types
inline constexpr std::uint64_t most_beside = 1024;   ///< of a synthetic description, in one object

} // namespace corewise::detail
