#include "exit_status.hpp"
#include "json_text.hpp"
#include "machine_options.hpp"
#include "streams.hpp"
#include "subcommands.hpp"

#include <corewise/engine/machine_text.hpp>
#include <corewise/engine/profile.hpp>
#include <corewise/topology/discovery.hpp>
#include <corewise/topology/error.hpp>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <system_error>
#include <variant>

namespace corewise::command {

namespace {

struct check_options {
  std::vector<std::string> files;
  std::optional<std::string> machine;
  output_format format = output_format::for_people;
};

struct verdict {
  std::string file;
  std::vector<profile_issue> issues; ///< issues that have a place in the file
  std::string other;                 ///< other errors
  std::vector<std::string> warnings; ///< what the machine cannot give, or where its facts are doubtful

  bool good() const { return issues.empty() && other.empty(); }
};

/// Returns the keys that have errors when a text is read so.
template <class Read> std::set<std::string> wrong_keys(const Read& read) {
  std::set<std::string> keys;
  try {
    read();
  } catch (const profile_error& error) {
    for (const profile_issue& i : error.issues()) keys.insert(i.key);
  }
  return keys;
}

/// A machine file has outer keys that no profile has, and none that only profiles have: a profile may have a part of its
/// `topology` there by mistake.
bool is_machine_file(std::string_view yaml) {
  const std::set<std::string> no_profile = wrong_keys([&] { static_cast<void>(parse_profile(yaml)); });
  constexpr std::array<const char*, 5> of_machines{"source", "kinds", "distances", "costs", "energy"};
  if (std::ranges::none_of(of_machines, [&](const char* key) { return no_profile.contains(key); }))
    return false;
  const std::set<std::string> no_machine = wrong_keys([&] {
    machine_description ignored;
    use_machine_text(ignored, yaml, "");
  });
  constexpr std::array<std::string_view, 2> of_both{"version", "name"};
  const json of_profiles = json::parse(profile_schema())["properties"];
  return std::ranges::none_of(of_profiles.items(), [&](const auto& row) {
    return no_machine.contains(row.key()) && std::ranges::find(of_both, row.key()) == of_both.end();
  });
}

std::string name_of(const std::string& file) { return file == "-" ? "standard input" : file; }

/// Looks at a machine, and returns its warnings. One that is `live` may be another than this one.
std::vector<std::string> try_machine(const machine_description& machine) {
  if (std::holds_alternative<live_source>(machine.source)) return {};
  return discover(machine).warnings();
}

/// Reads the file as a profile or as a machine file, and, where a machine is given, tries the profile on it. Returns the
/// warnings of an engine there.
std::vector<std::string> read_as_it_is(const std::string& file,
                                       const std::optional<chosen_machine>& machine) {
  const std::string text = read_text(file, text_bytes_most);
  const bool plain = is_regular(file);
  profile p;
  if (is_machine_file(text)) {
    if (plain)
      use_machine(p.topology.machine, file);
    else
      use_machine_text(p.topology.machine, text, name_of(file));
    return try_machine(p.topology.machine);
  }
  p = plain ? load_profile(file) : parse_profile(text, name_of(file));
  if (!machine) return {};
  machine->use(p.topology.machine);
  std::vector<std::string> warnings = divided_machine(p).machine.warnings();
  if (p.strict && !warnings.empty())
    throw topology_error(
        fmt::format("the profile is strict, and the machine cannot fulfil these requests: {}",
                    fmt::join(warnings, "; ")));
  return warnings;
}

verdict check_file(const std::string& file, const std::optional<chosen_machine>& machine) {
  verdict v{file, {}, {}, {}};
  try {
    v.warnings = read_as_it_is(file, machine);
  } catch (const profile_error& error) {
    v.issues = error.issues();
  } catch (const std::system_error& error) {
    v.other = error.what(); // names the file
  } catch (const topology_error& error) {
    v.other = fmt::format("{}: {}", name_of(file), error.what());
  }
  return v;
}

json json_of(const verdict& v) {
  json issues = json::array();
  for (const profile_issue& i : v.issues)
    issues.push_back(
        {{"file", i.file}, {"line", i.line}, {"column", i.column}, {"key", i.key}, {"message", i.message}});
  if (!v.other.empty())
    issues.push_back({{"file", v.file}, {"line", 0}, {"column", 0}, {"key", ""}, {"message", v.other}});
  return {{"file", v.file}, {"ok", v.good()}, {"issues", issues}, {"warnings", v.warnings}};
}

void print_verdict(const verdict& v) {
  for (const profile_issue& i : v.issues) print_aside(i.to_string() + '\n');
  if (!v.other.empty()) complain(v.other);
  for (const std::string& w : v.warnings) complain(fmt::format("{}: warning: {}", name_of(v.file), w));
  if (v.good()) print(fmt::format("{}: ok\n", name_of(v.file)));
}

int check_files(const check_options& options) {
  bool all_good = true;
  json verdicts = json::array();
  std::optional<chosen_machine> machine;
  if (options.machine) machine.emplace(*options.machine);
  for (const std::string& file : options.files) {
    const verdict v = check_file(file, machine);
    all_good = all_good && v.good();
    if (options.format == output_format::for_programs)
      verdicts.push_back(json_of(v));
    else
      print_verdict(v);
  }
  if (options.format == output_format::for_programs) print(text_of(verdicts));
  return all_good ? done : refused;
}

} // namespace

void add_check(CLI::App& app, action& chosen) {
  auto options = std::make_shared<check_options>();
  CLI::App* sub = app.add_subcommand("check", "Check profiles and machine files");
  sub->add_option("FILE", options->files, "Profiles or machine files; - is standard input")->required();
  sub->add_option("--machine", options->machine, "Also try each profile on this machine")
      ->type_name("live|FILE.xml|FILE.yaml|FOLDER|SYNTHETIC");
  add_format_option(*sub, options->format);
  sub->footer("Errors go to standard error, as FILE:LINE:COLUMN: KEY: THE VALUE FOUND; THE VALUES "
              "EXPECTED,\n"
              "and the exit status is then 1.\n\n"
              "Examples:\n"
              "  corewise check server.yaml\n"
              "  corewise check --machine live configs/*.yaml");
  sub->callback([options, &chosen] { chosen = [options] { return check_files(*options); }; });
}

} // namespace corewise::command
