#include "machine_file.hpp"

#include "contradictions.hpp"
#include "description_fields.hpp"
#include "read_fields.hpp"
#include "source_file.hpp"

#include <corewise/topology/detail/made_once.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>

#define COREWISE_AT(member) [](auto& m) -> auto& { return m.member; }

namespace corewise::detail {

namespace {

using row = field<machine_file>;
using rows = field_table<machine_file>;

std::string describe_cost(std::string_view name) {
  const std::string_view group = name.substr(0, name.find('.'));
  if (group == "submit")
    return "The time from the submission of a task until its worker can see it, without the transfer";
  if (group == "run") return "The time between two tasks of one queue";
  if (group == "wake_up")
    return "The time from the call that wakes a sleeper until the sleeper looks for work";
  if (group == "waking") return "The time that the call that wakes a sleeper takes from its caller";
  if (group == "transfer")
    return "The time that a cache line takes from one core to another, by the level between them";
  if (group == "steal")
    return "The time that a thief takes to find and move tasks, by the level between the thief and its "
           "victim";
  if (name == "slowdown.shared_core")
    return "The factor by which a task takes longer beside a task on the other thread of its core";
  return "The factor by which a task takes longer on a worker of another NUMA node than that of its data";
}

row slowdown(const std::string& name) {
  row r = make_field<machine_file>(
      "costs." + name, numbers(1, 1000),
      [name](machine_file& m, const element&, const setting& v) {
        *find_cost(m.costs, name) = std::get<double>(v);
      },
      [name](const machine_file& m, const auto& visit) { visit({}, *find_cost(m.costs, name)); });
  r.facts.unit = "times as long";
  r.facts.description = describe_cost(name);
  return r;
}

row cost(const std::string& name) {
  if (name.starts_with("slowdown.")) return slowdown(name);
  using namespace std::chrono_literals;
  row r = make_field<machine_file>(
      "costs." + name, durations(0ns, 1s),
      [name](machine_file& m, const element&, const setting& v) {
        *find_cost(m.costs, name) = static_cast<double>(std::get<std::chrono::nanoseconds>(v).count());
      },
      [name](const machine_file& m, const auto& visit) {
        visit({}, std::chrono::nanoseconds(std::llround(*find_cost(m.costs, name))));
      });
  r.facts.description = describe_cost(name);
  return r;
}

row power(const std::string& state, double machine_costs::power::* watts, const std::string& description) {
  row r = make_field<machine_file>(
      "energy.*." + state, numbers(0, 100'000),
      [watts](machine_file& m, const element& e, const setting& v) {
        m.costs.energy[e.names.at(0)].*watts = std::get<double>(v);
      },
      [watts](const machine_file& m, const auto& visit) {
        for (const auto& [kind, power] : m.costs.energy) visit({{}, {kind}}, power.*watts);
      });
  r.facts.unit = "W";
  r.facts.description = description;
  return r;
}

rows head() {
  row version = integer_field<machine_file>("version", COREWISE_AT(version), integers(1, 1));
  version.facts.description = "The version of this format";
  row name = text_field<machine_file>("name", COREWISE_AT(name), texts(64));
  name.facts.description = "The name of the machine";
  return {version, name};
}

rows source() {
  rows r = source_fields<machine_file>("", COREWISE_AT(source));
  r.front().facts.required = true; // so that it is never the machine at hand by mistake
  r.front().facts.description += "; this key is required";
  return r;
}

rows costs() {
  rows r;
  for (const std::string& name : cost_names()) r.push_back(cost(name));
  return r;
}

rows energy() {
  return {
      power("active", &machine_costs::power::active,
            "The power of a core of this kind while it runs or searches"),
      power("idle", &machine_costs::power::idle, "The power of a core of this kind while its worker sleeps")};
}

rows make_table() {
  rows all;
  const auto whole = [](auto& m) -> auto& { return m; };
  for (rows section : {head(), source(), kind_fields<machine_file>("", whole),
                       rows{distance_field<machine_file>("", whole)}, costs(), energy()})
    std::ranges::move(section, std::back_inserter(all));
  return all;
}

constinit const made_once<rows> machine_table(&make_table);

} // namespace

const field_table<machine_file>& machine_fields() { return machine_table.get(); }

bool begins_as_xml(std::string_view text) noexcept {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != text.npos && text[first] == '<';
}

machine_file parse_machine_file(std::string_view yaml, const std::string& name,
                                const std::filesystem::path* folder) {
  issue_list issues(name);
  if (begins_as_xml(yaml)) {
    issues.add({}, "", "found XML; give it as a file, FILE.xml, not by a pipe");
    std::move(issues).throw_if_any();
  }
  machine_file m;
  const auto positions = read_fields(yaml, machine_fields(), m, issues);
  auto contradictions = find_contradictions(m.kinds, m.distances, "");
  for (const auto& [kind, power] : m.costs.energy)
    check_kind_name(contradictions, "energy." + kind, kind, m.kinds, "");
  add_contradictions(contradictions, positions, issues);
  if (folder) resolve_source(m.source, *folder, "", positions, issues);
  std::move(issues).throw_if_any();
  return m;
}

} // namespace corewise::detail

#undef COREWISE_AT
