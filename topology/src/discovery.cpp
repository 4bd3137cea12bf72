#include "hwloc_source.hpp"
#include "kinds.hpp"
#include "limits.hpp"
#include "places.hpp"
#include "selection.hpp"
#include "sysfs_source.hpp"
#include "sysfs_speed.hpp"

#include <corewise/topology/binding.hpp>
#include <corewise/topology/discovery.hpp>
#include <corewise/topology/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace corewise {
namespace {

using namespace detail;

std::string name_of(const live_source& source) {
  return source.root == "/" ? "live" : fmt::format("live:{}", source.root);
}
std::string name_of(const xml_source& source) { return "xml:" + source.file; }
std::string name_of(const synthetic_source& source) { return "synthetic:" + source.text; }

/// hwloc asks for the affinity mask until it gets it: for ever, where the system refuses that. And it leaves out the CPUs
/// that are not in the list of those online.
machine_scan scan_live() {
  const char* const why =
      this_thread_affinity().empty() ? "the system refuses to tell the affinity mask"
      : shows_own_cpus("/")
          ? "/sys/devices/system/cpu/online is not the kernel's, as in a container with lxcfs"
          : nullptr;
  if (why == nullptr) return scan_this_machine();
  machine_scan found = scan_sysfs("/");
  found.this_system = true;
  found.warnings.push_back(fmt::format("{}; hwloc was not asked, but the rest of /sys", why));
  return found;
}

machine_scan scan(const live_source& source) {
  auto found = source.root == "/" ? scan_live() : scan_sysfs(source.root);
  read_kernel_nodes(source.root, found);
  read_sysfs_speeds(source.root, found);
  return found;
}
machine_scan scan(const xml_source& source) { return scan_xml(source); }
machine_scan scan(const synthetic_source& source) { return scan_synthetic(source); }

node_distances describe_distances(const std::vector<std::vector<std::uint32_t>>& matrix,
                                  const std::vector<numa_node>& nodes) {
  const auto refuse = [&](const std::string& what) {
    throw topology_error(
        fmt::format("distances: {}; {} rows of {} numbers are needed, one for each NUMA node", what,
                    nodes.size(), nodes.size()));
  };
  node_distances distances{{}, matrix};
  for (const auto& node : nodes) distances.nodes.push_back(node.os_index);
  if (matrix.size() != nodes.size()) refuse(fmt::format("there are {} rows", matrix.size()));
  for (std::size_t row = 0; row < matrix.size(); ++row) {
    if (matrix[row].size() != nodes.size())
      refuse(fmt::format("row {} has {} numbers", row, matrix[row].size()));
    if (std::ranges::find(matrix[row], 0U) != matrix[row].end()) refuse(fmt::format("row {} has a 0", row));
  }
  return distances;
}

std::vector<core_kind> find_kinds(const machine_scan& found, const machine_description& description,
                                  std::vector<std::string>& warnings) {
  auto kinds = discover_kinds(found, warnings);
  if (!description.kinds.empty()) kinds = describe_kinds(found, kinds, description.kinds, warnings);
  override_capacities(kinds, description.capacities, warnings);
  return kinds;
}

machine_facts gather(machine_scan& found, const machine_description& description) {
  machine_facts facts;
  facts.this_system = found.this_system;
  facts.warnings = std::move(found.warnings);
  facts.nodes = place_nodes(found);
  facts.kinds = find_kinds(found, description, facts.warnings);
  facts.packages = std::move(found.packages);
  facts.llcs = std::move(found.llcs);
  facts.distances = std::move(found.distances);
  if (!description.distances.empty())
    facts.distances = describe_distances(description.distances, facts.nodes);
  return facts;
}

/// Returns the part of `cpus` that the host allows.
cpu_set obey_limits(cpu_set cpus, const host_limits& limits, const std::filesystem::path& root) {
  const auto found = cpus;
  if (const auto online = read_online_cpus(root)) cpus &= *online;
  if (limits.affinity) cpus &= *limits.affinity;
  if (limits.cpuset) cpus &= *limits.cpuset;
  if (cpus.empty())
    throw topology_error(fmt::format(
        "topology source live: of CPUs {} the affinity mask ({}) and the control group ({}) leave none",
        found.to_string(), limits.affinity ? limits.affinity->to_string() : "none",
        limits.cpuset ? limits.cpuset->to_string() : "none"));
  return cpus;
}

} // namespace

topology discover(const machine_description& description) {
  auto found = std::visit([](const auto& source) { return scan(source); }, description.source);
  auto facts = gather(found, description);
  facts.source = description.source_name.empty()
                     ? std::visit([](const auto& source) { return name_of(source); }, description.source)
                     : description.source_name;
  auto cpus = found.cpus;
  if (const auto* live = std::get_if<live_source>(&description.source)) {
    facts.limits = read_limits(live->root);
    std::ranges::move(hidden_facts(live->root, facts.limits), std::back_inserter(facts.warnings));
    cpus = obey_limits(std::move(cpus), facts.limits, live->root);
  }
  restrict_places(facts, cpus);
  restrict_places(facts, select_cpus(facts, description.use));
  facts.cores = place_cores(facts, found.cores);
  return topology(std::move(facts));
}

} // namespace corewise
