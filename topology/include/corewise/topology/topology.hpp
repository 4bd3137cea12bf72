#pragma once

#include <corewise/topology/cpu_set.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace corewise {

/// The capacity of the fastest core kind of every machine, as in Linux.
inline constexpr std::uint32_t full_capacity = 1024;

/// A physical package (socket).
struct package {
  std::optional<std::uint32_t> id; ///< the operating system's number; nothing when the source has none
  cpu_set cpus;                    ///< never empty: packages without a usable CPU are left out
};

/// A memory node. Nodes without CPUs and nodes that lie beside another one's CPUs are listed too.
struct numa_node {
  std::uint32_t os_index = 0; ///< the operating system's number: sparse on some machines, never an index
  cpu_set cpus;               ///< the CPUs that the node is local to; nodes may overlap
  cpu_set home_cpus;          ///< the CPUs whose home the node is; these never overlap
  std::uint64_t memory_bytes = 0;
};

/// A last-level cache: the outermost data or unified cache of its CPUs.
struct last_level_cache {
  std::uint32_t level = 0; ///< 1, 2, 3 ...
  cpu_set cpus;            ///< the CPUs whose outermost cache this is
};

/// Cores of one speed class.
struct core_kind {
  std::uint32_t rank = 0;                 ///< 0 is the slowest; equal to the index in `topology::kinds()`
  std::string name;                       ///< "P", "E", "LP-E", "big", "LITTLE", ...; unique in a machine
  cpu_set cpus;                           ///< whole cores; the kinds partition the machine's CPUs
  std::uint32_t capacity = full_capacity; ///< 1..1024 relative to the fastest kind, which has 1024
  std::string source; ///< where the capacity is from, e.g. "cpu_capacity", "frequency, assumed"
};

/// A core: one or more hardware threads, with the places that it belongs to as indices into the lists of its
/// `topology`. Where its CPUs disagree (a cache below the core, say), its lowest CPU decides.
struct core {
  cpu_set cpus;
  std::optional<std::uint32_t> package;
  std::optional<std::uint32_t> node; ///< the home node
  std::optional<std::uint32_t> llc;
  std::uint32_t kind = 0;
};

/// How far memory nodes are apart, in SLIT units (10 is local).
struct node_distances {
  std::vector<std::uint32_t> nodes;               ///< os_index, ascending
  std::vector<std::vector<std::uint32_t>> matrix; ///< row: from, column: to, both in the order of `nodes`
};

/// The limits that the host sets for this process. Only a live machine has any.
struct host_limits {
  std::optional<cpu_set> affinity;  ///< the thread's affinity mask
  std::optional<cpu_set> cpuset;    ///< the control group's CPUs; nothing outside a cpuset controller
  std::optional<double> quota_cpus; ///< the tightest CPU quota over all ancestors, in CPUs
  /// Whether control groups above those that the process sees may have limits too, as in a container.
  bool part_hidden = false;
};

/// The facts of a machine, as discovery found them.
struct machine_facts {
  std::string source; ///< "live", "live:FOLDER" (recorded), "xml:FILE", "synthetic:TEXT", "machine:FILE"
  bool this_system = false;           ///< whether threads can be bound to it
  cpu_set cpus;                       ///< what may be used: after host limits and the profile's selection
  std::vector<package> packages;      ///< in logical order
  std::vector<numa_node> nodes;       ///< ascending os_index
  std::vector<last_level_cache> llcs; ///< in logical order
  std::vector<core> cores;            ///< in logical order: cores that share a cache stand together
  std::vector<core_kind> kinds;       ///< slowest first; at least one
  std::optional<node_distances> distances;
  host_limits limits;
  std::vector<std::string> warnings; ///< what was doubtful and how it was decided; for people
};

/// A machine: what the process may use of packages → NUMA nodes → LLCs → cores → CPUs.
///
///     machine
///     └── package            (absent on some machines)
///         └── NUMA node      (may also hold packages, or lie beside other nodes)
///             └── LLC        (any level; absent on some machines)
///                 └── core   (of one kind)
///                     └── CPU
///
/// Immutable, so every thread may read it. Made by `discover()`.
class topology {
 public:
  /// Checks that the facts are consistent (cores and kinds partition the CPUs, indices in range).
  /// Throws `topology_error` naming the first contradiction.
  explicit topology(machine_facts facts);

  const std::string& source() const noexcept { return facts_.source; }
  bool is_this_system() const noexcept { return facts_.this_system; }
  const cpu_set& cpus() const noexcept { return facts_.cpus; }
  const std::vector<package>& packages() const noexcept { return facts_.packages; }
  const std::vector<numa_node>& nodes() const noexcept { return facts_.nodes; }
  const std::vector<last_level_cache>& llcs() const noexcept { return facts_.llcs; }
  const std::vector<core>& cores() const noexcept { return facts_.cores; }
  const std::vector<core_kind>& kinds() const noexcept { return facts_.kinds; }
  const std::optional<node_distances>& distances() const noexcept { return facts_.distances; }
  const host_limits& limits() const noexcept { return facts_.limits; }
  const std::vector<std::string>& warnings() const noexcept { return facts_.warnings; }

  /// SLIT distance between two nodes given by index into `nodes()`; 10 to itself and 20 to others where the
  /// machine tells nothing. O(1).
  std::uint32_t distance(std::uint32_t from_node, std::uint32_t to_node) const noexcept;

 private:
  machine_facts facts_;
  std::vector<std::uint32_t> distance_; // nodes() × nodes(), row: from
};

} // namespace corewise
