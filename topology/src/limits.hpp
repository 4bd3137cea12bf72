#pragma once

#include <corewise/topology/topology.hpp>

#include <filesystem>

namespace corewise::detail {

/// Reads what the host allows the calling thread, from /proc and /sys below `root`. A limit that cannot be
/// read or makes no sense counts as none. Throws nothing but `std::bad_alloc`.
host_limits read_limits(const std::filesystem::path& root);

/// Reads the CPUs that are online. Returns nothing when the kernel does not tell.
std::optional<cpu_set> read_online_cpus(const std::filesystem::path& root);

} // namespace corewise::detail
