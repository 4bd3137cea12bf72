#include "checks.hpp"

namespace corewise::emulated {

namespace {

template <class Range, class Text> std::string joined(const Range& range, Text text) {
  std::string all;
  for (const auto& one : range) all += (all.empty() ? "" : " ") + text(one);
  return all.empty() ? "none" : all;
}

std::string cpus_of(const auto& part) { return part.cpus.to_string(); }

std::string node_text(const numa_node& n) {
  return std::to_string(n.os_index) + ":" + n.home_cpus.to_string();
}

std::string kind_text(const core_kind& k) { return k.cpus.to_string() + "=" + std::to_string(k.capacity); }

std::string row_text(const std::vector<std::uint32_t>& row) {
  std::string text;
  for (const std::uint32_t d : row) text += (text.empty() ? "" : ",") + std::to_string(d);
  return text;
}

std::string distances_text(const topology& machine) {
  if (!machine.distances()) return "none";
  return joined(machine.distances()->matrix, row_text);
}

} // namespace

void check_discovery(const expectation& facts, verdict& v) {
  const topology machine = discover({});
  v.same("cpus", machine.cpus().to_string(), facts.at("cpus"));
  v.same("packages", joined(machine.packages(), cpus_of<package>), facts.at("packages"));
  v.same("nodes", joined(machine.nodes(), node_text), facts.at("nodes"));
  v.same("llcs", joined(machine.llcs(), cpus_of<last_level_cache>), facts.at("llcs"));
  v.same("cores", joined(machine.cores(), cpus_of<core>), facts.at("cores"));
  v.same("kinds", joined(machine.kinds(), kind_text), facts.at("kinds"));
  v.same("distances", distances_text(machine), facts.at("distances"));
}

} // namespace corewise::emulated
