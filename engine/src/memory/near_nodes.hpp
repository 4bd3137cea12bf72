#pragma once

#include <corewise/topology/workers.hpp>

namespace corewise::detail {

/// Maps each node of a machine to the node that a hint for it means: the node itself if it has workers, else
/// the nearest node that has, by SLIT distance, the first of equally near ones. Immutable.
class near_nodes {
 public:
  near_nodes(const topology& machine, const locality_groups& groups, const worker_layout& layout);

  /// Returns whether all workers are equally near to all memory.
  bool one() const noexcept { return nodes_.size() <= 1; }
  /// Returns an index into `topology::nodes()` for the operating system's number of a node. Returns nothing
  /// if the machine does not know the number, or no worker has a node. Cost: a few compares for each doubling
  /// of the nodes.
  std::optional<std::uint32_t> standing_for(std::uint32_t os_index) const noexcept;

 private:
  struct node {
    std::uint32_t os_index;
    std::uint32_t nearest; // index into `topology::nodes()`
  };
  std::vector<node> nodes_; // ascending os_index; empty where no worker has a node
};

/// Returns from which node each group's memory comes, by the operating system's number: from its own where that has
/// memory, else from the nearest one that has, by SLIT distance, the first of equally near ones. Nothing: from any node.
/// `with_memory`: the numbers of those that have; empty: not known, then each counts.
std::vector<std::optional<std::uint32_t>> memory_nodes(const topology& machine, const locality_groups& groups,
                                                       const cpu_set& with_memory);

/// Returns the numbers of the nodes that had memory when the machine was discovered.
cpu_set nodes_with_memory(const topology& machine);

} // namespace corewise::detail
