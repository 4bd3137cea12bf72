#pragma once

#include <corewise/topology/topology.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace corewise::detail {

/// Reads what the host allows the calling thread, from /proc and /sys below `root`. A limit that cannot be
/// read or makes no sense counts as none. Throws nothing but `std::bad_alloc`.
host_limits read_limits(const std::filesystem::path& root);

/// Returns whether the list of online CPUs there is not the kernel's: some containers (lxcfs) show a file of their own, with
/// as many CPUs as their quota has, numbered from 0. Of recorded machines none does.
bool shows_own_cpus(const std::filesystem::path& root);
/// Reads the CPUs that are online. Returns nothing when the kernel does not tell.
std::optional<cpu_set> read_online_cpus(const std::filesystem::path& root);

/// Returns a warning for each part of /proc and /sys below `root` that cannot be read, which says what is
/// unknown therefore. `limits` are those that were read there.
std::vector<std::string> hidden_facts(const std::filesystem::path& root, const host_limits& limits);

} // namespace corewise::detail
