#pragma once

#include <corewise/topology/workers.hpp>

namespace corewise::detail {

/// Which node stands for each of a machine's nodes in a hint: itself if it has workers, else the nearest that has, by
/// SLIT distance, of equally near ones the first. Immutable.
class near_nodes {
 public:
  near_nodes(const topology& machine, const locality_groups& groups, const worker_layout& layout);

  /// Whether all workers are equally near to all memory.
  bool one() const noexcept { return nodes_.size() <= 1; }
  /// An index into `topology::nodes()`, for the operating system's number; nothing for one that the machine does not
  /// know, and where no worker has a node. Cost: a few compares for each doubling of the nodes.
  std::optional<std::uint32_t> standing_for(std::uint32_t os_index) const noexcept;

 private:
  struct node {
    std::uint32_t os_index;
    std::uint32_t nearest; // index into `topology::nodes()`
  };
  std::vector<node> nodes_; // ascending os_index; empty where no worker has a node
};

} // namespace corewise::detail
