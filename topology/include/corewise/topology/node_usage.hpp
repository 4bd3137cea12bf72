#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace corewise {

/// The memory of a NUMA node, as all programs of the machine use it.
struct node_usage {
  std::uint32_t os_index = 0;
  std::uint64_t total_bytes = 0;
  std::uint64_t free_bytes = 0;
  std::uint64_t cache_bytes = 0; ///< pages of files
};

/// Reads it of each node with memory, ascending; nothing where the system does not tell. Cost: a file for
/// each node, some 50 us. Any thread. Source: the kernel's Documentation/ABI/stable/sysfs-devices-node.
std::vector<node_usage> read_node_usage(const std::filesystem::path& root = "/");

} // namespace corewise
