#include "limits.hpp"

#include "cgroup.hpp"
#include "sysfs.hpp"

#include <fmt/format.h>

namespace corewise::detail {
namespace {

namespace fs = std::filesystem;

std::optional<cpu_set> non_empty(std::optional<cpu_set> cpus) {
  if (cpus && cpus->empty()) return std::nullopt;
  return cpus;
}

std::optional<cpu_set> read_affinity(const fs::path& status) {
  constexpr std::string_view key = "\nCpus_allowed_list:";
  const auto text = read_text(status);
  const auto at = text ? text->find(key) : std::string::npos;
  if (at == std::string::npos) return std::nullopt;
  const auto value = at + key.size();
  return non_empty(cpu_set::parse(std::string_view(*text).substr(value, text->find('\n', value) - value)));
}

} // namespace

host_limits read_limits(const fs::path& root) {
  host_limits limits;
  limits.affinity = read_affinity(root / "proc/thread-self/status");
  if (!limits.affinity) limits.affinity = read_affinity(root / "proc/self/status");
  limits.cpuset = cgroup_cpus(root);
  limits.quota_cpus = cgroup_quota(root);
  return limits;
}

std::optional<cpu_set> read_online_cpus(const fs::path& root) {
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
  std::error_code error;
  if (fs::directory_iterator(root / cpus, error) == fs::directory_iterator())
    hidden(cpus, "the CPUs that are online, their cores, caches and speeds are");
  else if (!read_online_cpus(root))
    hidden("sys/devices/system/cpu/online", "the CPUs that are online are");
  return warnings;
}

} // namespace corewise::detail
