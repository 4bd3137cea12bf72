#include "sysfs_source.hpp"

#include "limits.hpp"
#include "sysfs.hpp"

#include <corewise/topology/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <tuple>

namespace corewise::detail {
namespace {

const std::string cpu_directory = "sys/devices/system/cpu/";
const std::string node_directory = "sys/devices/system/node/";

/// The facts of sysfs about one CPU.
struct cpu_facts {
  std::uint32_t cpu = 0;
  std::optional<std::uint32_t> package;
  cpu_set core;
  std::optional<last_level_cache> llc;
};

std::optional<last_level_cache> read_cache(fact_tree& tree, const std::string& directory) {
  const auto type = tree.text(directory + "type");
  const auto depth = tree.number(directory + "level");
  const auto cpus = tree.cpus({directory + "shared_cpu_list"}, {directory + "shared_cpu_map"});
  if (!type || *type == "Instruction" || !depth || *depth == 0 || *depth > 9 || !cpus || cpus->empty())
    return std::nullopt;
  return last_level_cache{static_cast<std::uint32_t>(*depth), *cpus};
}

std::optional<last_level_cache> read_llc(fact_tree& tree, const std::string& cpu) {
  std::optional<last_level_cache> outermost;
  for (const auto index : tree.numbered(cpu + "cache", "index"))
    if (auto cache = read_cache(tree, fmt::format("{}cache/index{}/", cpu, index)))
      if (!outermost || cache->level > outermost->level) outermost = std::move(cache);
  return outermost;
}

cpu_set only(std::uint32_t cpu) { return cpu_set::range(cpu, cpu); }

cpu_facts read_cpu(fact_tree& tree, std::uint32_t cpu) {
  const auto directory = fmt::format("{}cpu{}/", cpu_directory, cpu);
  cpu_facts facts{cpu, {}, {}, read_llc(tree, directory)};
  const auto core = directory + "topology/";
  const auto siblings = tree.cpus({core + "core_cpus_list", core + "thread_siblings_list"},
                                  {core + "core_cpus", core + "thread_siblings"});
  facts.core = siblings.value_or(only(cpu));
  facts.core.insert(cpu);
  // An unknown package is written as -1.
  const auto package = parse_number(tree.text(directory + "topology/physical_package_id").value_or(""));
  if (package && *package <= cpu_set::largest) facts.package = static_cast<std::uint32_t>(*package);
  return facts;
}

cpu_set present_cpus(const std::filesystem::path& root, fact_tree& tree) {
  if (const auto online = read_online_cpus(root)) return *online;
  cpu_set present;
  for (const auto cpu : tree.numbered(cpu_directory, "cpu"))
    if (parse_number(tree.text(fmt::format("{}cpu{}/online", cpu_directory, cpu)).value_or("")) != 0U)
      present.insert(cpu);
  return present;
}

/// Packages in the order of their numbers, in them caches, in them cores: hwloc's logical order.
std::vector<cpu_facts> read_cpus(fact_tree& tree, const cpu_set& present) {
  std::vector<cpu_facts> cpus;
  for (const auto cpu : present.to_vector()) cpus.push_back(read_cpu(tree, cpu));
  std::ranges::sort(cpus, {}, [](const cpu_facts& c) {
    return std::tuple(c.package.value_or(cpu_set::largest), c.llc ? c.llc->cpus.first() : c.cpu,
                      c.core.first(), c.cpu);
  });
  return cpus;
}

void add_packages(machine_scan& scan, const std::vector<cpu_facts>& cpus) {
  for (const auto& c : cpus) {
    if (!c.package) continue;
    if (scan.packages.empty() || scan.packages.back().id != c.package)
      scan.packages.push_back({c.package, {}});
    scan.packages.back().cpus.insert(c.cpu);
  }
}

void add_cores(machine_scan& scan, const std::vector<cpu_facts>& cpus) {
  cpu_set seen;
  for (const auto& c : cpus) {
    if (seen.contains(c.cpu)) continue;
    auto core = (c.core & scan.cpus) - seen;
    seen |= core;
    scan.cores.push_back(std::move(core));
  }
}

void add_llcs(machine_scan& scan, const std::vector<cpu_facts>& cpus) {
  std::map<std::pair<std::uint32_t, std::string>, std::size_t> index;
  for (const auto& c : cpus) {
    if (!c.llc) continue;
    const auto [at, is_new] = index.try_emplace({c.llc->level, c.llc->cpus.to_string()}, scan.llcs.size());
    if (is_new) scan.llcs.push_back({c.llc->level, {}});
    scan.llcs[at->second].cpus.insert(c.cpu);
  }
}

/// Reads a line such as "Node 0 MemTotal:       32592764 kB".
std::uint64_t read_memory(fact_tree& tree, const std::string& node) {
  const auto text = tree.text(node + "meminfo").value_or("");
  const auto at = text.find("MemTotal:");
  if (at == std::string::npos) return 0;
  std::istringstream in(text.substr(at + 9));
  std::uint64_t kib = 0;
  in >> kib;
  return kib * 1024;
}

void add_nodes(fact_tree& tree, machine_scan& scan) {
  for (const auto number : tree.numbered(node_directory, "node")) {
    const auto directory = fmt::format("{}node{}/", node_directory, number);
    const auto cpus = tree.cpus({directory + "cpulist"}, {directory + "cpumap"}).value_or(cpu_set{});
    scan.nodes.push_back({number, cpus & scan.cpus, read_memory(tree, directory), false});
  }
}

/// Reads a row, which has one number for each online node, in the order of their numbers.
std::optional<std::vector<std::uint32_t>> read_row(fact_tree& tree, std::uint32_t node, std::size_t count) {
  auto row = tree.distances(fmt::format("{}node{}/distance", node_directory, node));
  return row && row->size() == count ? row : std::nullopt;
}

void add_distances(fact_tree& tree, machine_scan& scan) {
  node_distances distances;
  for (const auto& node : scan.nodes) {
    auto row = read_row(tree, node.os_index, scan.nodes.size());
    if (!row) return;
    distances.nodes.push_back(node.os_index);
    distances.matrix.push_back(std::move(*row));
  }
  if (!distances.nodes.empty()) scan.distances = std::move(distances);
}

} // namespace

machine_scan scan_sysfs(const std::filesystem::path& root) {
  fact_tree tree(root);
  machine_scan scan;
  scan.cpus = present_cpus(root, tree);
  if (scan.cpus.empty())
    throw topology_error(
        fmt::format("topology source live: there is no CPU below {}; a root holds the /proc and /sys of "
                    "a Linux machine",
                    (root / cpu_directory).string()));
  const auto cpus = read_cpus(tree, scan.cpus);
  add_packages(scan, cpus);
  add_cores(scan, cpus);
  add_llcs(scan, cpus);
  add_nodes(tree, scan);
  add_distances(tree, scan);
  scan.warnings = tree.complaints();
  return scan;
}

void read_kernel_nodes(const std::filesystem::path& root, machine_scan& scan) {
  fact_tree tree(root);
  for (const auto& node : scan.nodes) {
    const auto directory = fmt::format("{}node{}/", node_directory, node.os_index);
    scan.kernel_node_cpus.push_back(
        tree.cpus({directory + "cpulist"}, {directory + "cpumap"}).value_or(cpu_set{}));
  }
  for (auto& complaint : tree.complaints()) scan.warnings.push_back(std::move(complaint));
}

} // namespace corewise::detail
