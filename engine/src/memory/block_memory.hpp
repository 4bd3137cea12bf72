#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace corewise::detail {

/// The memory of the process's recycled blocks (task_blocks.hpp), of all engines together.
struct block_memory {
  std::uint64_t held_bytes = 0; ///< in pages that the system has given and not got back
  std::uint64_t used_bytes =
      0; ///< of these, in tasks and frames, and up to 95 blocks of a size in each thread
  std::uint64_t refused_pages = 0; ///< that the system did not take back, as under `mlockall`
};

/// Gives spare pages back to the system where a node has more than `keep` bytes of blocks of one size to
/// spare. Leaves off soon after `stop` returns true. Call from any thread. Cost: some ns for each spare
/// block; other threads that take or give blocks wait for no more than a few instructions.
void trim_blocks(std::size_t keep, const std::function<bool()>& stop = [] { return false; }) noexcept;

/// Call from any thread. Cost: a lock for each size and node.
block_memory count_block_memory() noexcept;

} // namespace corewise::detail
