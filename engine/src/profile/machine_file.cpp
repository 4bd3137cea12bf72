#include "machine_file.hpp"

#include "description_fields.hpp"
#include "read_fields.hpp"
#include "source_file.hpp"
#include "text_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#define COREWISE_AT(member) [](auto& m) -> auto& { return m.member; }

namespace corewise::detail {

namespace {

using row = field<machine_file>;
using rows = field_table<machine_file>;

template <class At> row number_by_name(const std::string& path, At at, const std::string& description) {
  row r = make_field<machine_file>(
      path, numbers(0, 1'000'000'000'000),
      [at](machine_file& m, const element& e, const setting& v) {
        at(m)[fmt::format("{}", fmt::join(e.names, "."))] = std::get<double>(v);
      },
      [](const machine_file&, const auto&) {}); // only read
  r.facts.description = description;
  return r;
}

rows head() {
  row version = integer_field<machine_file>("version", COREWISE_AT(version), integers(1, 1));
  version.facts.description = "The version of this format";
  row name = text_field<machine_file>("name", COREWISE_AT(name), texts(64));
  name.facts.description = "What to call the machine";
  return {version, name};
}

rows source() {
  rows r = source_fields<machine_file>("", COREWISE_AT(source));
  r.front().facts.required = true; // never the machine at hand by mistake
  r.front().facts.description += "; needed";
  return r;
}

rows numbers_by_name() {
  return {number_by_name("costs.*", COREWISE_AT(costs), "A cost of this machine"),
          number_by_name("costs.*.*", COREWISE_AT(costs), "A cost of this machine"),
          number_by_name("energy.*", COREWISE_AT(energy), "A power or an energy of this machine"),
          number_by_name("energy.*.*", COREWISE_AT(energy), "A power or an energy of this machine")};
}

rows make_table() {
  rows table;
  const auto whole = [](auto& m) -> auto& { return m; };
  for (rows section : {head(), source(), kind_fields<machine_file>("", whole),
                       rows{distance_field<machine_file>("", whole)}, numbers_by_name()})
    std::ranges::move(section, std::back_inserter(table));
  return table;
}

machine_file parse(std::string_view yaml, const std::string& name, const std::filesystem::path* folder) {
  issue_list issues(name);
  machine_file m;
  const auto places = read_fields(yaml, machine_fields(), m, issues);
  add_contradictions(find_contradictions(m.kinds, m.distances, ""), places, issues);
  if (folder) resolve_source(m.source, *folder, "", places, issues);
  std::move(issues).throw_if_any();
  return m;
}

} // namespace

const field_table<machine_file>& machine_fields() {
  static const rows table = make_table();
  return table;
}

machine_file load_machine_file(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.parent_path();
  return parse(read_text_file(file), file.string(), &folder);
}

machine_file parse_machine_file(std::string_view yaml, const std::string& name) {
  return parse(yaml, name, nullptr);
}

} // namespace corewise::detail

#undef COREWISE_AT
