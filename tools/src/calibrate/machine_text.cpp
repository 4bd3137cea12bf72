#include "machine_text.hpp"

#include <corewise/topology/costs.hpp>
#include <corewise/topology/topology.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace corewise::command {

namespace {

constexpr std::size_t longest_name = 64; // of a machine
constexpr double largest_cost = 1e9;     // in ns; a machine file takes no larger cost

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

/// Writes a spread, such as "[38.0, 41.5], 1000 samples; noisy".
std::string told(const spread& s, int digits) {
  return fmt::format("[{:.{}f}, {:.{}f}], {} samples{}", s.p10, digits, s.p90, digits, s.samples,
                     s.noisy() ? "; noisy: half of them differ by more than 30%" : "");
}

std::string head(const host_facts& host) {
  std::string text =
      fmt::format("# Measured by `corewise calibrate`, {}, on {}.\n", host.date,
                  host.cpu_model.empty() ? std::string("a CPU without a name") : host.cpu_model);
  for (const std::string& doubt : host.doubts) text += fmt::format("# Beware: {}.\n", doubt);
  text += "#\n"
          "# A figure is the median; behind it are the 10th and the 90th percentile, in ns, the number of "
          "samples\n"
          "# and the CPUs. A figure that was not measured is left out, and its default holds\n"
          "# (docs/command.md).\n";
  if (!host.cpu_model.empty())
    text += fmt::format("name: {}\n", quoted(host.cpu_model.substr(0, longest_name)));
  return text +
         "# The costs hold for this machine only. To simulate it elsewhere, take the file along with the "
         "XML that\n"
         "# `lstopo machine.xml` writes here, and let `source` name that: {xml: machine.xml}.\n"
         "source: live\n";
}

std::string speeds_of(const kind_finding& kind) {
  std::string text = fmt::format("# {}, CPUs {}, ns a step:\n", kind.name, kind.cpus.to_string());
  for (std::size_t i = 0; i < kernel_names.size(); ++i) {
    const finding& f = kind.kernels[i];
    text += f.value
                ? fmt::format("#   {:7}  {:.2f}  {}\n", kernel_names[i], f.value->median, told(*f.value, 2))
                : fmt::format("#   {:7}  not measured: {}\n", kernel_names[i], f.why_not);
  }
  return text;
}

std::string line_of(const kind_finding& kind) {
  const double capacity = std::clamp(std::round(kind.capacity.value->median), 1.0, double{full_capacity});
  return fmt::format("  - {{cpus: {}, name: {}, capacity: {:.0f}}}  # {}\n", quoted(kind.cpus.to_string()),
                     quoted(kind.name), capacity, told(*kind.capacity.value, 0));
}

std::string kinds_of(const calibration& found) {
  std::string text = "\n";
  for (const kind_finding& kind : found.kinds) text += speeds_of(kind);
  const auto unknown =
      std::ranges::find_if(found.kinds, [](const kind_finding& k) { return !k.capacity.value; });
  if (unknown != found.kinds.end())
    return text + fmt::format("# kinds: not measured: {}\n", unknown->capacity.why_not);
  if (found.kinds.empty()) return text + "# kinds: not measured\n";
  text += "kinds:\n";
  for (const kind_finding& kind : found.kinds) text += line_of(kind);
  return text;
}

const finding* find(const calibration& found, std::string_view name) {
  const auto at = found.costs.find(name);
  return at == found.costs.end() ? nullptr : &at->second;
}

/// Writes a line below `costs`, or below the group that the name begins with.
std::string line_of(std::string_view name, const finding* f) {
  const std::size_t point = name.find('.');
  const std::string indent(point == std::string_view::npos ? 2 : 4, ' ');
  const std::string_view key = name.substr(point == std::string_view::npos ? 0 : point + 1);
  if (f == nullptr || !f->value)
    return fmt::format("{}# {}: not measured: {}\n", indent, key,
                       f == nullptr ? "nothing here measures it" : f->why_not);
  return fmt::format("{}{}: {:.0f}ns  # {}{}{}\n", indent, key, std::min(f->value->median, largest_cost),
                     told(*f->value, 1), f->how.empty() ? "" : "; ", f->how);
}

std::string_view group_of(std::string_view name) {
  const std::size_t point = name.find('.');
  return point == std::string_view::npos ? std::string_view() : name.substr(0, point);
}

/// Writes the line of a key. A key below which nothing was measured must be a comment; YAML would take it for
/// null.
std::string key_line(std::string_view indent, std::string_view key, bool any) {
  return fmt::format("{}{}{}:\n", indent, any ? "" : "# ", key);
}

bool any_measured(const calibration& found, std::string_view group) {
  return std::ranges::any_of(found.costs, [&](const auto& cost) {
    return cost.second.value && (group.empty() || group_of(cost.first) == group);
  });
}

std::string costs_of(const calibration& found) {
  std::string text = "\n" + key_line("", "costs", any_measured(found, ""));
  std::string_view group;
  for (const std::string& name : cost_names()) {
    if (const std::string_view own = group_of(name); own != group) {
      group = own;
      if (!group.empty()) text += key_line("  ", group, any_measured(found, group));
    }
    text += line_of(name, find(found, name));
  }
  return text;
}

} // namespace

std::string machine_text(const calibration& found) {
  return head(found.host) + kinds_of(found) + costs_of(found) +
         "\n# energy: not measured: nothing here tells the power of one core\n";
}

figure_count count_figures(const calibration& found) {
  figure_count count;
  for (const std::string& name : cost_names()) {
    const finding* f = find(found, name);
    ++(f != nullptr && f->value ? count.measured : count.missing);
  }
  return count;
}

} // namespace corewise::command
