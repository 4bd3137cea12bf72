#pragma once

#include <corewise/topology/topology.hpp>

namespace corewise::detail {

/// The facts about the speed of a CPU; 0 and "" mean unknown.
struct cpu_traits {
  std::string core_type; ///< "core", "atom", "lowpower", "dense", or another word of the source
  std::string part;      ///< ARM's part number, "0xd87"
  std::uint32_t capacity = 0;
  std::uint32_t nominal = 0; ///< CPPC nominal performance
  std::uint32_t max_mhz = 0;
  std::uint32_t base_mhz = 0;
  int rank = -1; ///< hwloc's ranking; it counts only where nothing else is known

  auto operator<=>(const cpu_traits&) const = default;

  bool typed() const { return !core_type.empty() || !part.empty(); }
  bool has_speed() const { return capacity != 0 || nominal != 0 || max_mhz != 0 || base_mhz != 0; }
};

/// Normalises the words for core types: "IntelAtom" and sysfs' "cpu_atom" both become "atom".
std::string core_type_word(std::string_view source_word);

struct scanned_node {
  std::uint32_t os_index = 0;
  cpu_set cpus;
  std::uint64_t memory_bytes = 0;
  bool special = false; ///< not ordinary memory: MCDRAM, HBM, a GPU's ...
};

/// A machine as a source shows it, before any rule of this project applies. Lists are in the source's logical
/// order.
struct machine_scan {
  bool this_system = false;
  std::string architecture; ///< "x86_64", "aarch64" ...; "" when unknown
  cpu_set cpus;
  std::vector<package> packages;
  std::vector<scanned_node> nodes;    ///< ascending os_index
  std::vector<last_level_cache> llcs; ///< never empty sets
  std::vector<cpu_set> cores;         ///< partition `cpus`
  std::vector<cpu_traits> traits;     ///< by CPU number; shorter when the rest is unknown
  std::optional<node_distances> distances;
  std::vector<cpu_set> kernel_node_cpus; ///< beside `nodes`: home CPUs, as the kernel says; empty: unasked
  std::vector<std::string> warnings;

  const cpu_traits& traits_of(std::uint32_t cpu) const;
};

} // namespace corewise::detail
