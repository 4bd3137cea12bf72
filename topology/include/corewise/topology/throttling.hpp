#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>

namespace corewise {

/// How far the tightest CPU quota of this process's control group and its ancestors has held them up, since
/// that group was made.
struct cpu_throttling {
  std::optional<double> quota_cpus; ///< in CPUs; nothing: there is none
  std::uint64_t periods = 0;        ///< in which there was work
  std::uint64_t throttled_periods = 0;
  std::chrono::nanoseconds throttled{0}; ///< the sum over the CPUs on which the group had something to run
  std::filesystem::path group;           ///< that with the quota, as a directory; empty: none
};

/// Reads it below `root`; nothing if it cannot be read. Cost: some ten files. Source: cgroups(7), and the
/// kernel's cgroup-v2.rst and sched-bwc.rst.
std::optional<cpu_throttling> read_cpu_throttling(const std::filesystem::path& root = "/");

} // namespace corewise
