#pragma once

#include <corewise/topology/groups.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace corewise {

/// The allowance of the host now, which may be less or more than when a `topology` was made.
struct host_allowance {
  cpu_set cpus;   ///< online, in the cpuset and in the thread's affinity mask; empty: not known
  cpu_set cpuset; ///< the same without the affinity mask
  std::optional<double>
      quota_cpus; ///< the tightest CPU quota over all ancestors, in CPUs; nothing: there is none
  /// How many others share the machine by agreement (`sharing.file`); then `cpus` are only those of the own share.
  std::uint32_t others = 0;
  /// The part of its speed that each locality group is allowed now, in percent, in steps of five; empty: all of it.
  std::vector<std::uint32_t> speeds = {};
  /// The numbers of the memory nodes that have memory and that the thread's control group may use; empty: not known.
  cpu_set nodes = {};

  friend bool operator==(const host_allowance&, const host_allowance&) = default;
};

/// Reads it from /proc and /sys below `root`, for that thread of this process, or for the calling one where it is 0 or
/// not listed there. A file that cannot be read counts as no limit. Cost: some twenty files, 0.2 ms. Any thread. Throws
/// nothing but `std::bad_alloc`. It knows of no others, and of no groups.
host_allowance read_host_allowance(const std::filesystem::path& root, int thread = 0);

/// Returns how many of the files can be read now that name the control group of this process and what it is allowed. The
/// number falls where /proc or /sys is gone, and is 0 while there is no descriptor. Any thread. Throws nothing but
/// `std::bad_alloc`.
std::size_t readable_allowance_files(const std::filesystem::path& root);

/// Reads the part of its speed that each group is allowed: the largest frequency that the kernel gives its cores now, as
/// operators and thermal drivers set it (cpufreq/scaling_max_freq), of the largest that they have. Of each group the first
/// and the last core are asked, and the slower one counts. A file that cannot be read counts as the full frequency.
/// Cost: four files a group, 10 us each. Any thread. Throws nothing but `std::bad_alloc`.
std::vector<std::uint32_t> read_speeds(const std::filesystem::path& root, const topology& machine,
                                       const locality_groups& groups);

} // namespace corewise
