#include "sysfs.hpp"

#include <corewise/topology/node_usage.hpp>

#include <optional>
#include <sstream>
#include <string>

namespace corewise {

namespace {

constexpr std::uint64_t bytes_per_kb = 1024;

/// Reads lines such as "Node 0 MemTotal:       11364568 kB".
node_usage usage_in(const std::string& text) {
  node_usage seen;
  std::istringstream lines(text);
  std::string node, name, unit;
  std::uint64_t number = 0;
  std::uint64_t kb = 0;
  while (lines >> node >> number >> name >> kb) {
    std::getline(lines, unit); // some have none
    if (name == "MemTotal:") seen.total_bytes = kb * bytes_per_kb;
    if (name == "MemFree:") seen.free_bytes = kb * bytes_per_kb;
    if (name == "FilePages:") seen.cache_bytes = kb * bytes_per_kb;
  }
  return seen;
}

} // namespace

std::vector<node_usage> read_node_usage(const std::filesystem::path& root) {
  const std::string directory = "sys/devices/system/node";
  const detail::fact_tree facts(root);
  std::vector<node_usage> all;
  for (const std::uint32_t number : facts.numbered(directory, "node")) {
    const auto text = facts.text(directory + "/node" + std::to_string(number) + "/meminfo");
    if (!text) continue;
    node_usage seen = usage_in(*text);
    seen.os_index = number;
    if (seen.total_bytes != 0) all.push_back(seen);
  }
  return all;
}

} // namespace corewise
