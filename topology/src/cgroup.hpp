#pragma once

#include <corewise/topology/cpu_set.hpp>

#include <filesystem>

namespace corewise::detail {

/// Where a controller of this process is: the directories of its control group and of all ancestors that the
/// mount shows, innermost first. Some may not exist.
struct controller_place {
  bool v2 = false;
  std::vector<std::filesystem::path> directories;
  bool part_hidden = false; ///< there are, or may be, control groups above these
};

/// Finds a controller ("cpu", "cpuset") through proc/self/mountinfo and proc/self/cgroup below `root`, in
/// version 1, 2 or both at once (hybrid). Returns nothing when there is none or the process's group lies
/// outside of every mount. Source: cgroups(7), cgroup_namespaces(7), proc_pid_mountinfo(5).
std::optional<controller_place> find_controller(const std::filesystem::path& root,
                                                std::string_view controller);

/// The CPUs that the cpuset controller leaves to this process.
std::optional<cpu_set> cgroup_cpus(const std::filesystem::path& root);
/// Returns whether control groups that this process does not see may limit its CPUs or its quota, as in containers.
bool limits_may_be_hidden(const std::filesystem::path& root);
/// The tightest quota of the cpu controller over the group and its ancestors, in CPUs.
std::optional<double> cgroup_quota(const std::filesystem::path& root);

} // namespace corewise::detail
