#include "machine_options.hpp"

#include "number_options.hpp"
#include "streams.hpp"

#include <corewise/engine/machine_text.hpp>
#include <corewise/topology/discovery.hpp>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <thread>

namespace corewise::command {

namespace {

worker_options workers_of(const profile& p, const topology& machine, std::optional<std::uint32_t> headroom) {
  worker_options options{p.topology.smt, p.workers.per_group, p.workers.total, std::nullopt, headroom};
  if (const int cpu = ::sched_getcpu(); machine.is_this_system() && cpu >= 0)
    options.start_cpu = static_cast<std::uint32_t>(cpu);
  return options;
}

} // namespace

CLI::Validator one_of(std::vector<std::pair<std::string, int>> choices) {
  const auto replace_by_number = [choices = std::move(choices)](std::string& word) -> std::string {
    std::string known;
    for (const auto& [name, value] : choices) {
      if (word == name) return word = std::to_string(value), "";
      known += (known.empty() ? "" : ", ") + name;
    }
    return fmt::format("found `{}`; expected one of {}", word, known);
  };
  return {replace_by_number, ""};
}

profile machine_options::configured() const {
  corewise::profile p = profile ? load_profile(*profile) : corewise::profile{};
  if (machine) use_machine(p.topology.machine, *machine);
  if (workers) p.workers.total = workers;
  return p;
}

chosen_machine::chosen_machine(std::string option) : option_(std::move(option)) {
  std::error_code ignored;
  const bool is_there = std::filesystem::exists(option_, ignored);
  if (is_there && !is_regular(option_) && !std::filesystem::is_directory(option_, ignored))
    piped_ = read_text(option_, text_bytes_most);
}

void chosen_machine::use(machine_description& into) const {
  piped_ ? use_machine_text(into, *piped_, option_) : use_machine(into, option_);
}

bool is_regular(const std::string& file) {
  std::error_code ignored;
  return file != "-" && std::filesystem::is_regular_file(file, ignored);
}

void add_format_option(CLI::App& app, output_format& format) {
  app.add_option("--format", format, "The format of the answer: text (the default) or json")
      ->transform(one_of({{"text", static_cast<int>(output_format::for_people)},
                          {"json", static_cast<int>(output_format::for_programs)}}))
      ->type_name("text|json");
}

void add_colour_option(CLI::App& app, colour_use& colour) {
  app.add_option("--color", colour, "Colours: auto (on a terminal, unless NO_COLOR is set), always or never")
      ->transform(one_of({{"auto", static_cast<int>(colour_use::automatic)},
                          {"always", static_cast<int>(colour_use::always)},
                          {"never", static_cast<int>(colour_use::never)}}))
      ->type_name("auto|always|never");
}

void add_machine_options(CLI::App& app, machine_options& options) {
  app.add_option("--profile", options.profile, "The profile to use instead of the defaults")
      ->type_name("FILE");
  app.add_option(
         "--machine", options.machine,
         "The machine to examine: live, a file of hwloc's XML, a machine file, the folder of a recorded "
         "machine, or an hwloc synthetic "
         "description")
      ->type_name("live|FILE.xml|FILE.yaml|FOLDER|SYNTHETIC");
  app.add_option("--workers", options.workers,
                 "The number of workers in all, dealt over the groups by capacity")
      ->type_name("N")
      ->check(whole_number(1, 65536).description(""));
  add_format_option(app, options.format);
}

bool refuse_workers(const profile& p) {
  const std::size_t most = std::max(4096U, 4 * std::thread::hardware_concurrency());
  const std::size_t wanted = divided_machine(p, p.workers.headroom).workers.size();
  if (wanted <= most) return false;
  complain(fmt::format(
      "found {} workers; expected {} at most, since each is a thread here, and looks at all others for work",
      wanted, most));
  return true;
}

divided_machine::divided_machine(const profile& p, std::optional<std::uint32_t> headroom)
    : machine(discover(p.topology.machine)),
      groups(machine, p.topology.groups),
      workers(machine, groups, workers_of(p, machine, headroom)) {}

} // namespace corewise::command
