#pragma once

#include <corewise/topology/cpu_set.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>

namespace corewise {

/// What the host allows now, which may be less or more than when a `topology` was made.
struct host_allowance {
  cpu_set cpus;   ///< online, in the cpuset and in the thread's affinity mask; empty: not known
  cpu_set cpuset; ///< the same without the affinity mask
  std::optional<double>
      quota_cpus; ///< the tightest CPU quota over all ancestors, in CPUs; nothing: there is none
  /// How many others share the machine by agreement (`sharing.file`); then `cpus` are only those of the own share.
  std::uint32_t others = 0;

  friend bool operator==(const host_allowance&, const host_allowance&) = default;
};

/// Reads it from /proc and /sys below `root`, for that thread of this process, or for the calling one where it is 0 or
/// not listed there. What cannot be read counts as no limit. Cost: some twenty files, 0.2 ms. Any thread. Throws
/// nothing but `std::bad_alloc`. It knows of no others.
host_allowance read_host_allowance(const std::filesystem::path& root, int thread = 0);

} // namespace corewise
