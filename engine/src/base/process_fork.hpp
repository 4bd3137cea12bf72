#pragma once

#include <corewise/policies/detail/atomic.hpp>

namespace corewise::detail {

extern atomic<unsigned> process_forks; ///< relaxed: written in a process that has one thread only

/// Returns how many process forks lie between the first process that made an engine and this one. The child
/// of a process fork has the memory of its parent's engines but none of their threads. Cost: one load.
inline unsigned process_fork_count() noexcept { return process_forks.load(std::memory_order_relaxed); }

} // namespace corewise::detail
