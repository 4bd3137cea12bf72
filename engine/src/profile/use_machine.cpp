#include "issue_list.hpp"
#include "machine_file.hpp"
#include "quotation.hpp"
#include "source_file.hpp"
#include "text_file.hpp"

#include <corewise/engine/machine_text.hpp>
#include <corewise/engine/profile.hpp>

#include <algorithm>

namespace corewise {

namespace {

enum class machine_text : std::uint8_t { live, recorded, xml_file, some_file, synthetic, nothing_known };

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_alphanumeric(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// Returns whether the text begins as hwloc's synthetic descriptions do: "pack:2", "2 4", "[numa]",
/// "(size=...)".
bool looks_synthetic(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  if (text.empty() || text.find('/') != std::string_view::npos) return false;
  if (text[0] == '[' || text[0] == '(') return true;
  const auto name = static_cast<std::size_t>(std::ranges::find_if_not(text, is_alphanumeric) - text.begin());
  const std::string_view rest = text.substr(name);
  if (rest.starts_with(':')) return name > 0 && rest.size() > 1 && is_digit(rest[1]);
  return std::ranges::all_of(text.substr(0, name), is_digit) && (rest.empty() || rest[0] == ' ');
}

bool has_yaml_suffix(const std::filesystem::path& file) {
  return file.extension() == ".yaml" || file.extension() == ".yml";
}

machine_text tell(const std::string& machine) {
  if (machine == "live") return machine_text::live;
  const std::filesystem::path file(machine);
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) return machine_text::recorded;
  if (file.extension() == ".xml") return machine_text::xml_file;
  if (has_yaml_suffix(file) || std::filesystem::exists(file, ignored)) return machine_text::some_file;
  return looks_synthetic(machine) ? machine_text::synthetic : machine_text::nothing_known;
}

[[noreturn]] void refuse(const std::string& file, const std::string& message) {
  throw profile_error({detail::unreadable(file, message)});
}

void use_xml(machine_description& into, const std::filesystem::path& file) {
  if (const std::string why = detail::why_unreadable(file); !why.empty())
    refuse(file.string(), "cannot be read: " + why);
  into.source = xml_source{file};
  into.source_name.clear();
}

void use_recorded(machine_description& into, const std::filesystem::path& folder) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder / "sys/devices/system/cpu", ignored))
    refuse(folder.string(),
           "has no folder sys/devices/system/cpu; expected a recorded machine with the folders sys and "
           "proc, as hwloc-gather-topology makes it");
  into.source = live_source{folder};
}

/// Replaces kinds and distances: the file describes the whole machine, so those of another one must not stay.
void use_described(machine_description& into, detail::machine_file described, const std::string& name) {
  into.source = std::move(described.source);
  into.source_name = "machine:" + name;
  into.kinds = std::move(described.kinds);
  into.distances = std::move(described.distances);
  into.costs = std::move(described.costs);
}

/// Returns whether a text that is no machine file is a profile, with keys that only profiles have.
bool is_profile(std::string_view text, const profile_error& as_machine) {
  if (std::ranges::all_of(as_machine.issues(), [](const profile_issue& i) { return i.key == "source"; }))
    return false;
  try {
    return static_cast<void>(parse_profile(text)), true;
  } catch (const profile_error&) {
    return false;
  }
}

/// Reads a file of XML or YAML, once: it may be a pipe, in which relative paths begin at the working directory.
void use_file(machine_description& into, const std::filesystem::path& file) {
  const std::string text = detail::read_text_file(file);
  std::error_code ignored;
  const bool is_plain = std::filesystem::is_regular_file(file, ignored);
  if (is_plain && !has_yaml_suffix(file) && detail::begins_as_xml(text)) return use_xml(into, file);
  const std::filesystem::path folder = file.parent_path();
  try {
    use_described(into, detail::parse_machine_file(text, file.string(), is_plain ? &folder : nullptr),
                  file.string());
  } catch (const profile_error& error) {
    if (is_profile(text, error))
      refuse(file.string(), "is a profile; expected a machine file, which has a `source`");
    throw;
  }
}

} // namespace

void use_machine(machine_description& into, const std::string& machine) {
  switch (tell(machine)) {
  case machine_text::live: into.source = live_source{}; break;
  case machine_text::recorded: use_recorded(into, machine); break;
  case machine_text::synthetic: into.source = synthetic_source{machine}; break;
  case machine_text::xml_file: return use_xml(into, machine);
  case machine_text::some_file: return use_file(into, machine);
  case machine_text::nothing_known:
    refuse(detail::printable(machine),
           "no such file, and not a synthetic description such as "
           "\"pack:2 numa:1 l3:4 core:8 pu:2\"; give live, FILE.xml, FILE.yaml, FOLDER or such "
           "a description");
  }
  into.source_name.clear();
}

void use_machine_text(machine_description& into, std::string_view yaml, const std::string& name) {
  use_described(into, detail::parse_machine_file(yaml, name), name);
}

} // namespace corewise
