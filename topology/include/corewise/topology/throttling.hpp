#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>

namespace corewise {

/// How far CPU quotas have held this process up: the sums of its control group and all ancestors that are
/// visible, since they were made.
struct cpu_throttling {
  std::optional<double> quota_cpus; ///< the tightest quota now, in CPUs; nothing: none
  std::uint64_t periods = 0;        ///< periods of quotas in which the group had work
  std::uint64_t throttled_periods = 0;
  std::chrono::nanoseconds throttled{0};
};

/// Reads it below `root`. What cannot be read counts as none. Cost: some ten files. Source: cgroups(7), and the
/// kernel's cgroup-v2.rst and sched-bwc.rst.
cpu_throttling read_cpu_throttling(const std::filesystem::path& root = "/");

} // namespace corewise
