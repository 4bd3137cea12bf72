#include "exit_status.hpp"
#include "json_text.hpp"
#include "machine_options.hpp"
#include "map_page.hpp"
#include "number_options.hpp"
#include "output_file.hpp"
#include "simulate/machines.hpp"
#include "simulate/sweep.hpp"
#include "streams.hpp"
#include "subcommands.hpp"
#include "workload_texts.hpp"

#include <corewise/topology/machine_json.hpp>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <limits>

namespace corewise::command {

namespace {

enum class table_format : std::uint8_t { text, json, csv };

struct simulate_options {
  std::vector<std::string> profiles;
  std::vector<std::string> workloads;
  std::optional<std::string> machine;
  std::optional<std::uint32_t> workers;
  std::vector<std::string> real; // KIND=CAPACITY
  std::uint64_t tasks = 1'000'000;
  std::uint32_t seeds = 1;
  std::uint64_t seed = 1;
  table_format format = table_format::text;
  std::optional<std::string> charts;
  std::optional<std::string> map;
  bool force = false;
};

constexpr std::uint32_t load_samples = 500;
constexpr std::uint32_t map_moments = 120;

struct capacity_of_kind {
  std::string kind;
  std::uint32_t capacity = 0;
};

/// Reads KIND=CAPACITY; nothing: it is something else.
std::optional<capacity_of_kind> read_capacity(const std::string& text) {
  const std::size_t sign = text.rfind('=');
  if (sign == std::string::npos || sign == 0) return std::nullopt;
  capacity_of_kind read{text.substr(0, sign), 0};
  const char* const end = text.data() + text.size();
  const auto [rest, why] = std::from_chars(text.data() + sign + 1, end, read.capacity);
  if (why != std::errc() || rest != end || read.capacity < 1 || read.capacity > full_capacity)
    return std::nullopt;
  return read;
}

simulated_profile configured(const simulate_options& options, const std::optional<std::string>& file,
                             const std::optional<chosen_machine>& chosen, machine_finder& machines) {
  profile p = file ? load_profile(*file) : profile{};
  if (chosen) chosen->use(p.topology.machine);
  if (options.workers) p.workers.total = options.workers;
  const auto machine = machines.find(p);
  for (const std::string& text : options.real)
    if (const auto real = read_capacity(text)) machine->really_have(real->kind, real->capacity);
  return {p.name, std::move(p), machine};
}

std::vector<simulated_profile> read_profiles(const simulate_options& options) {
  machine_finder machines;
  std::optional<chosen_machine> chosen;
  if (options.machine) chosen.emplace(*options.machine);
  std::vector<simulated_profile> read;
  if (options.profiles.empty()) read.push_back(configured(options, std::nullopt, chosen, machines));
  for (const std::string& file : options.profiles) {
    simulated_profile p = configured(options, file, chosen, machines);
    const bool taken = std::ranges::find(read, p.name, &simulated_profile::name) != read.end();
    if (taken || p.name.empty()) p.name = file;
    read.push_back(std::move(p));
  }
  return read;
}

std::string tables_of(const std::vector<simulation_report>& reports, table_format format) {
  if (format == table_format::csv) return to_csv(reports);
  if (format == table_format::json) {
    json all = json::array();
    for (const simulation_report& report : reports) all.push_back(json::parse(to_json(report)));
    return text_of(all);
  }
  std::string text;
  for (const simulation_report& report : reports) text += (text.empty() ? "" : "\n\n") + to_text(report);
  return text;
}

void draw_all(const std::vector<simulation_report>& reports, const std::string& directory) {
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const std::string& text = reports[i].workload;
    draw_charts(reports[i], directory, fmt::format("{}-{}", i + 1, text.substr(0, text.find(','))));
  }
}

/// Notes what the map shows of the sweep's one run.
class map_recording {
 public:
  void follow(sweep& s) {
    s.moments = map_moments;
    s.on_moment = [this](const live_figures& now) { moments_.push_back(now.to_json()); };
  }
  std::string page(const simulated_machine& m) const {
    return admin::recorded_map(machine_json(*m.machine, m.groups, m.workers), moments_).html;
  }

 private:
  std::vector<std::string> moments_;
};

int run_simulate(const simulate_options& options) {
  const auto workloads = read_workloads(options.workloads);
  if (!workloads) return wrong_usage;
  check_traces(*workloads);
  if (options.charts) check_charts();
  std::optional<output_file> map_file;
  if (options.map) {
    if (workloads->size() * options.seeds * std::max<std::size_t>(1, options.profiles.size()) != 1) {
      complain("--map: the page shows one run; give one workload, one profile and one seed");
      return wrong_usage;
    }
    map_file.emplace(*options.map, options.force);
  }
  sweep s{.profiles = read_profiles(options),
          .workloads = *workloads,
          .seeds = {},
          .tasks = options.tasks,
          .samples = options.charts ? load_samples : 0,
          .show_progress = ::isatty(STDERR_FILENO) == 1};
  for (std::uint32_t i = 0; i < options.seeds; ++i) s.seeds.push_back(options.seed + i);
  map_recording recording;
  if (map_file) recording.follow(s);
  const std::vector<simulation_report> reports = run_sweep(s);
  const std::string text = tables_of(reports, options.format);
  if (map_file) map_file->write(recording.page(*s.profiles.front().machine)); // first: the report may be lost
  map_file ? map_file->print_report(text) : print(text);
  if (options.charts) draw_all(reports, *options.charts);
  return done;
}

void add_options(CLI::App& app, simulate_options& options) {
  app.add_option("--workload", options.workloads,
                 "The tasks that come, KIND[,KEY=VALUE...]; may be given several times")
      ->type_name("W")
      ->required()
      ->allow_extra_args(false);
  app.add_option("--profile", options.profiles,
                 "A profile to compare; may be given several times; the default profile if none is given")
      ->type_name("FILE")
      ->allow_extra_args(false);
  app.add_option(
         "--machine", options.machine,
         "The machine to simulate: live, a file of hwloc's XML, a machine file, the folder of a recorded "
         "machine, or an hwloc synthetic "
         "description")
      ->type_name("live|FILE.xml|FILE.yaml|FOLDER|SYNTHETIC");
  app.add_option("--workers", options.workers,
                 "The number of workers in all, dealt over the groups by capacity")
      ->type_name("N")
      ->check(whole_number(1, 65536).description(""));
  app.add_option("--really", options.real,
                 "The capacity that the cores of a kind really have, where the engine believes what the "
                 "machine says; "
                 "may be given several times")
      ->type_name("KIND=CAPACITY")
      ->allow_extra_args(false)
      ->check([](const std::string& text) {
        return read_capacity(text) ? std::string()
                                   : fmt::format("\"{}\": expected a kind, =, and a capacity from 1 to {}",
                                                 text, full_capacity);
      });
  app.add_option("--tasks", options.tasks, "The number of tasks of each run; 1000000 by default")
      ->type_name("N")
      ->check(whole_number(1, 1'000'000'000'000).description(""));
  app.add_option("--seeds", options.seeds, "The number of runs, each with its own seed; 1 by default")
      ->type_name("N")
      ->check(whole_number(1, 1000).description(""));
  app.add_option("--seed", options.seed, "The first seed; 1 by default")
      ->type_name("N")
      ->check(whole_number(0, std::numeric_limits<std::int64_t>::max()).description(""));
  app.add_option("--format", options.format, "The format of the answer: text (the default), json or csv")
      ->transform(one_of({{"text", static_cast<int>(table_format::text)},
                          {"json", static_cast<int>(table_format::json)},
                          {"csv", static_cast<int>(table_format::csv)}}))
      ->type_name("text|json|csv");
  app.add_option("--charts", options.charts, "Draw SVG files into this directory (needs gnuplot)")
      ->type_name("DIR");
  app.add_option(
         "--map", options.map,
         "Write the live map of the run, a page that a browser plays; of one profile, workload and seed")
      ->type_name("FILE.html");
  app.add_flag("--force", options.force, "Overwrite that file if it exists");
}

} // namespace

void add_simulate(CLI::App& app, action& chosen) {
  auto options = std::make_shared<simulate_options>();
  CLI::App* sub = app.add_subcommand("simulate", "Simulate profiles on a machine, under a load");
  add_options(*sub, *options);
  sub->footer(
      "All profiles meet the same tasks: a seed gives them the same arrivals and service times.\n"
      "A load is of the first profile's workers.\n\n"
      "Kinds of workload and their keys (docs/simulation.md has them all):\n"
      "  poisson     load= or rate=          mmpp       the same, burst=, burst-share=, burst-length=\n"
      "  fork-join   the same, depth=, fanout=          trace      file=\n"
      "  closed      clients=, think=        ping-pong  pairs=, spawned   yield-ring  tasks=\n"
      "  all         service=, from=, data=, hinted, near-data, class=, lines=; of a trace without "
      "service=\n\n"
      "Examples:\n"
      "  corewise simulate --machine configs/machines/two-socket-hybrid.yaml --workload poisson,load=.8\n"
      "  corewise simulate --workload mmpp,load=.6,service=bimodal:10us:1ms:.005,data=random --seeds 3 \\\n"
      "    --profile configs/default.yaml --profile configs/tokio.yaml --profile configs/zio.yaml\n"
      "  corewise simulate --machine 'pack:2 l3:4 core:16 pu:1' --workload trace,file=day.csv --format json");
  sub->callback([options, &chosen] { chosen = [options] { return run_simulate(*options); }; });
}

} // namespace corewise::command
