#include "limits.hpp"

#include "cgroup.hpp"
#include "sysfs.hpp"

#include <corewise/topology/host_allowance.hpp>

#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <string>

namespace corewise::detail {
namespace {

namespace fs = std::filesystem;

std::optional<cpu_set> non_empty(std::optional<cpu_set> cpus) {
  if (cpus && cpus->empty()) return std::nullopt;
  return cpus;
}

/// The masks in the status of a thread.
struct thread_masks {
  std::optional<cpu_set> cpus;  ///< the affinity mask
  std::optional<cpu_set> nodes; ///< those from which the control group may take memory
};

thread_masks read_masks(const fs::path& status) {
  const std::string text = read_text(status).value_or("");
  const auto list = [&](std::string_view key) -> std::optional<cpu_set> {
    const auto at = text.find(key);
    if (at == std::string::npos) return std::nullopt;
    const auto value = at + key.size();
    return non_empty(cpu_set::parse(std::string_view(text).substr(value, text.find('\n', value) - value)));
  };
  return {list("\nCpus_allowed_list:"), list("\nMems_allowed_list:")};
}

thread_masks own_masks(const fs::path& root) {
  if (thread_masks masks = read_masks(root / "proc/thread-self/status"); masks.cpus) return masks;
  return read_masks(root / "proc/self/status");
}

/// Returns the largest frequency that a CPU is allowed, in percent of its own. 100: not known.
std::uint32_t allowed_percent(const fs::path& root, std::uint32_t cpu) {
  const auto read = [&](const char* file) -> std::uint64_t {
    const auto text = read_text(root / fmt::format("sys/devices/system/cpu/cpu{}/cpufreq/{}", cpu, file));
    return text ? parse_number(*text).value_or(0) : 0;
  };
  const std::uint64_t own = read("cpuinfo_max_freq");
  const std::uint64_t allowed = read("scaling_max_freq");
  return own == 0 || allowed == 0 ? 100 : percent_of(allowed, own);
}

} // namespace

host_limits read_limits(const fs::path& root) {
  host_limits limits;
  limits.affinity = own_masks(root).cpus;
  limits.cpuset = cgroup_cpus(root);
  limits.quota_cpus = cgroup_quota(root);
  limits.part_hidden = limits_may_be_hidden(root);
  return limits;
}

bool shows_own_cpus(const fs::path& root) {
  struct statfs of{};
  return root == "/" && ::statfs("/sys/devices/system/cpu/online", &of) == 0 && of.f_type != SYSFS_MAGIC;
}

std::optional<cpu_set> read_online_cpus(const fs::path& root) {
  if (shows_own_cpus(root)) return std::nullopt;
  const auto text = read_text(root / "sys/devices/system/cpu/online");
  if (!text) return std::nullopt;
  return non_empty(cpu_set::parse(*text));
}

std::vector<std::string> hidden_facts(const fs::path& root, const host_limits& limits) {
  std::vector<std::string> warnings;
  const auto hidden = [&](const char* file, std::string_view unknown) {
    warnings.push_back(fmt::format("{} cannot be read: {} unknown", (root / file).string(), unknown));
  };
  const char* const status = "proc/self/status";
  if (!limits.affinity && !read_text(root / status))
    hidden(status, "the affinity mask, the CPUs that this thread may use, is");
  else if (!limits.affinity)
    warnings.push_back(fmt::format("{} has no list of allowed CPUs: the affinity mask is unknown",
                                   (root / status).string()));
  for (const char* file : {"proc/self/mountinfo", "proc/self/cgroup"})
    if (!read_text(root / file)) {
      hidden(file, "the CPUs and the quota of the control group are");
      break;
    }
  const char* const cpus = "sys/devices/system/cpu";
  if (names_in(root / cpus).empty())
    hidden(cpus, "the CPUs that are online, their cores, caches and speeds are");
  else if (const char* const online = "sys/devices/system/cpu/online";
           !read_online_cpus(root) && !shows_own_cpus(root)) {
    if (read_text(root / online))
      warnings.push_back(fmt::format("{} has no list of CPUs: the CPUs that are online are unknown",
                                     (root / online).string()));
    else
      hidden(online, "the CPUs that are online are");
  }
  return warnings;
}

} // namespace corewise::detail

namespace corewise {

namespace {

constexpr const char* nodes_with_memory = "sys/devices/system/node/has_memory";
constexpr std::array allowance_files{"proc/self/status", "proc/self/mountinfo", "proc/self/cgroup",
                                     "sys/devices/system/cpu/online", nodes_with_memory};

} // namespace

host_allowance read_host_allowance(const std::filesystem::path& root, int thread) {
  using namespace detail;
  host_allowance allowed;
  if (const auto cpus = cgroup_cpus(root)) allowed.cpuset = *cpus;
  if (const auto online = read_online_cpus(root))
    allowed.cpuset = allowed.cpuset.empty() ? *online : allowed.cpuset & *online;
  thread_masks masks;
  if (thread != 0) masks = read_masks(root / "proc/self/task" / std::to_string(thread) / "status");
  if (!masks.cpus) masks = own_masks(root);
  allowed.cpus = allowed.cpuset;
  if (masks.cpus) allowed.cpus = allowed.cpus.empty() ? *masks.cpus : allowed.cpus & *masks.cpus;
  if (const auto text = read_text(root / nodes_with_memory))
    if (auto nodes = cpu_set::parse(*text)) allowed.nodes = masks.nodes ? *nodes & *masks.nodes : *nodes;
  allowed.quota_cpus = cgroup_quota(root);
  return allowed;
}

std::size_t readable_allowance_files(const std::filesystem::path& root) {
  return static_cast<std::size_t>(std::ranges::count_if(
      allowance_files, [&](const char* file) { return detail::read_text(root / file).has_value(); }));
}

std::vector<std::uint32_t> read_speeds(const std::filesystem::path& root, const topology& machine,
                                       const locality_groups& groups) {
  std::vector<std::uint32_t> speeds;
  for (const locality_group& g : groups.groups()) {
    std::uint32_t least = 100;
    for (const std::uint32_t core : {g.cores.front(), g.cores.back()})
      least = std::min(least, detail::allowed_percent(root, machine.cores()[core].cpus.first()));
    speeds.push_back(least);
  }
  if (std::ranges::all_of(speeds, [](std::uint32_t s) { return s == 100; })) speeds.clear();
  return speeds;
}

} // namespace corewise
