#pragma once

#include <corewise/topology/costs.hpp>
#include <corewise/topology/topology.hpp>

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace corewise {

/// The machine that the process runs on. Discovery reads /proc and /sys below `root`, so that tests can show
/// it a recorded tree. With a root other than "/" nothing can be bound.
struct live_source {
  std::string root = "/";
};
/// A file in hwloc's XML format 2.
struct xml_source {
  std::string file;
};
/// An hwloc synthetic description, such as "pack:2 numa:1 l3:4 core:8 pu:2".
struct synthetic_source {
  std::string text;
};
using machine_source = std::variant<live_source, xml_source, synthetic_source>;

/// A core kind that is described by hand.
struct kind_description {
  cpu_set cpus;
  std::string name;
  std::optional<std::uint32_t> capacity; ///< 1..1024; nothing: as discovered
};

/// The source of a machine, corrections to it, and the parts to leave out.
struct machine_description {
  machine_source source;
  std::string source_name; ///< how to name the source to people; empty: made from `source`
  /// Replaces the discovered kinds (they are not merged). A CPU that is in none of these kinds gets one by
  /// the rule for such CPUs.
  std::vector<kind_description> kinds;
  /// Replaces the discovered distances: row and column order is ascending os_index of the nodes.
  std::vector<std::vector<std::uint32_t>> distances;
  /// Replaces the capacity of the named kinds; wins over all else.
  std::map<std::string, std::uint32_t> capacities;
  /// The costs that the simulator computes with; discovery does not look at them.
  machine_costs costs = {};

  /// The parts of the machine to use; empty: all. Naming a package, a node or a kind that the machine does not
  /// have is an error.
  struct selection {
    std::vector<std::uint32_t> packages; ///< by `package::id`
    std::vector<std::uint32_t> nodes;    ///< by os_index; selects their home CPUs
    std::vector<std::string> kinds;      ///< by name
    std::optional<cpu_set>
        cpus;        ///< those that are absent, offline or not allowed are left out, with a warning
    cpu_set reserve; ///< CPUs left to others; they need not be there
  } use;
};

/// Looks at a machine. Never returns another machine than the one asked for.
/// Cost: the largest known machines (1,024 CPUs) take under 50 ms. Any thread.
/// Throws `topology_error` that says what is wrong with the source, the description or the selection.
topology discover(const machine_description& description);

} // namespace corewise
