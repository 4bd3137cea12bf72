#include "limits.hpp"

#include "cgroup.hpp"
#include "sysfs.hpp"

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

} // namespace corewise::detail
