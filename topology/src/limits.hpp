#pragma once

#include <corewise/topology/topology.hpp>

#include <filesystem>

namespace corewise::detail {

/// What the host allows the calling thread, read from /proc and /sys below `root`. Whatever cannot be read or
/// makes no sense is no limit. Throws nothing but `std::bad_alloc`.
host_limits read_limits(const std::filesystem::path& root);

/// The CPUs that are online; nothing when the kernel doesn't tell.
std::optional<cpu_set> read_online_cpus(const std::filesystem::path& root);

} // namespace corewise::detail
