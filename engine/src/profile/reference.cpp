#include "machine_file.hpp"
#include "profile_fields.hpp"

#include <fmt/format.h>

#include <map>

namespace corewise {

namespace {

using detail::field_facts;

constexpr std::string_view opening = R"(# The profile

<!-- Made from the table of fields in engine/src/profile/profile_fields.cpp; change it there. -->

A profile is the YAML file that configures an engine. Every key is optional: the defaults are good on any machine, and
an empty profile is valid. `configs/` has a profile for each purpose. `corewise check FILE` reports all errors of a
profile at once:

    server.yaml:7:10: steal.batch_max: found "lots"; expected a whole number from 1 to 65536
    server.yaml:9:3: dispatch.spil: found an unknown key; did you mean "spill"? the keys here are policy, score, spill

Durations carry their unit: `ns`, `us`, `ms`, `s`, `min` or `h`, as in `50us` or `1.5ms`. Numbers are decimal. CPU lists
have the form that Linux uses, `0-3,8`; inside `{}` or `[]` a list with a comma needs quotes. A profile is UTF-8, at
most 128 KiB, one YAML document without anchors, aliases and tags.

The column *change* says whether a running engine takes a new value from `engine.apply(profile)` (`live`), or whether a
new value needs a new engine (`restart`). `apply` refuses a profile as a whole if a key that needs a restart has another
value, and its answer names all such keys. To reload a file, call `apply(load_profile(file))`. The program must first
repeat the settings that it makes itself, such as a total of workers.
)";

constexpr std::string_view machine_opening = R"(
## The machine file

`--machine FILE.yaml` takes a machine that is described by hand, so that the command can examine a hybrid or a
two-socket machine anywhere. The key `source` is required; the other keys add facts that the source does not have.
`kinds` and `distances` also replace those of the profile. The simulator uses `costs` and `energy`
([simulation.md](simulation.md)); `corewise calibrate` measures the costs.

)";

constexpr std::string_view table_head =
    "| key | value | default | change | meaning |\n|---|---|---|---|---|\n";
constexpr std::string_view machine_table_head = "| key | value | meaning |\n|---|---|---|\n";

/// Returns the text as it stands in a cell of a table.
std::string cell(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

std::string value_of(const field_facts& f) {
  return cell(describe(f.rule)) + (f.unit.empty() ? "" : " (" + f.unit + ')');
}

std::string meaning_of(const field_facts& f) {
  return cell(f.description) + (f.note.empty() ? "" : fmt::format(". *{}*", cell(f.note)));
}

std::string default_of(const detail::field<profile>& field) {
  std::string text = field.facts.default_text;
  field.show(profile{}, [&](const detail::element&, const detail::setting& v) {
    text = fmt::format("`{}`", detail::to_text(v));
  });
  return text == "``" ? "none" : text;
}

std::string section_of(std::string_view path) { return std::string(path.substr(0, path.find('.'))); }

/// Returns the heading for the section of a field.
std::string heading(const field_facts& f) {
  return f.path.find('.') == std::string::npos ? "the top" : section_of(f.path);
}

std::string row(const detail::field<profile>& field) {
  const field_facts& f = field.facts;
  return fmt::format("| `{}` | {} | {} | {} | {} |\n", f.path, value_of(f), default_of(field),
                     f.changes == detail::change::live ? "live" : "restart", meaning_of(f));
}

std::string fields_by_section() {
  std::vector<std::string> headings;
  std::map<std::string, std::string> rows;
  for (const auto& field : detail::profile_fields()) {
    std::string& of_heading = rows[heading(field.facts)];
    if (of_heading.empty()) headings.push_back(heading(field.facts));
    of_heading += row(field);
  }
  std::string out;
  for (const std::string& h : headings) out += fmt::format("\n## {}\n\n{}{}", h, table_head, rows[h]);
  return out;
}

std::string machine_rows() {
  std::string out{machine_table_head};
  for (const auto& field : detail::machine_fields())
    out +=
        fmt::format("| `{}` | {} | {} |\n", field.facts.path, value_of(field.facts), meaning_of(field.facts));
  return out;
}

} // namespace

std::string profile_reference() {
  return std::string(opening) + fields_by_section() + std::string(machine_opening) + machine_rows();
}

} // namespace corewise
