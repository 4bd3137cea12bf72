#include "exit_status.hpp"
#include "number_options.hpp"
#include "output_file.hpp"
#include "streams.hpp"
#include "subcommands.hpp"
#include "tune/tune_options.hpp"
#include "tune/tune_report.hpp"
#include "workload_texts.hpp"

#include <corewise/topology/discovery.hpp>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

namespace corewise::command {

namespace {

constexpr double usual_budget_seconds = 60;

/// A line on standard error, where that is a terminal. The next line replaces it.
class search_progress {
 public:
  void show(std::uint32_t evaluations, double best) {
    const auto now = clock::now();
    if (!enabled_ || now - last_ < std::chrono::milliseconds{200}) return;
    last_ = now;
    print_aside(
        fmt::format("\r{} profiles in {:.0f} s, the best with {:.1f}% less on the seeds searched\033[K",
                    evaluations, std::chrono::duration<double>(now - begin_).count(), 100 * (1 - best)));
    shown_ = true;
  }
  ~search_progress() {
    if (shown_) print_aside("\r\033[K");
  }

 private:
  using clock = std::chrono::steady_clock;

  bool enabled_ = ::isatty(STDERR_FILENO) == 1;
  bool shown_ = false;
  clock::time_point begin_ = clock::now();
  clock::time_point last_ = begin_;
};

/// The engine's profile for the search. The runs are long tasks that need no report.
profile suited(const tune_options& options) {
  profile p;
  p.workers.total = options.jobs;
  p.blocking.stuck_after.reset();
  return p;
}

/// Returns whether the workload's tasks come at a rate that is, as far as it is known, less than the machine
/// can do.
bool comes_by_itself(const workload& w) {
  using kind = workload::kind;
  if (w.shape == kind::trace) return true;
  const bool open = w.shape == kind::poisson || w.shape == kind::mmpp || w.shape == kind::fork_join;
  return open && (w.rate || w.load <= 1);
}

/// The assumption behind the energy; "" where the machine describes that of all its core kinds.
std::string assumed_of_energy(const profile& start, const topology& machine) {
  std::string unweighed;
  const machine_costs& costs = start.topology.machine.costs;
  for (const core_kind& kind : machine.kinds())
    if (!costs.energy.contains(kind.name)) unweighed += (unweighed.empty() ? "" : ", ") + kind.name;
  if (unweighed.empty()) return "";
  return fmt::format("Assumed: a core draws {} W while it works or searches and {} W while it sleeps; the "
                     "machine does not describe the energy of the core kind {}.",
                     machine_costs::power{}.active, machine_costs::power{}.idle, unweighed);
}

/// Returns the assumptions behind the figures, which do not show them.
std::vector<std::string> assumptions(const tune_options& o, const std::vector<workload>& workloads,
                                     const profile& start, std::span<const tuned_field> fields) {
  std::vector<std::string> lines;
  if (std::ranges::find(fields, "topology.smt", &tuned_field::key) != fields.end())
    lines.push_back(
        fmt::format("A task is taken to last {:g} times as long beside a task on the other thread of its "
                    "core (costs.slowdown.shared_core).",
                    start.topology.machine.costs.slowdown.shared_core));
  for (const workload& w : workloads)
    if (w.shape == workload::kind::trace)
      lines.push_back(fmt::format(
          "All seeds have the arrivals of {}; the interval says nothing of another day.", w.file.string()));
  if (o.goal == tuning_goal::throughput)
    for (const workload& w : workloads)
      if (comes_by_itself(w))
        lines.push_back(fmt::format("The tasks of {} come at a given rate, and every profile that keeps up "
                                    "runs this many a second: use --goal p99 to compare profiles there; for "
                                    "tasks a second use closed, ping-pong or yield-ring, or a load above 1.",
                                    w.text));
  return lines;
}

/// Returns how many tasks a run has at most: a trace ends.
std::uint64_t tasks_of(const tune_options& o, const std::vector<workload>& workloads) {
  std::uint64_t most = 0;
  for (const workload& w : workloads) most = std::max(most, tasks_that_come(w, o.tasks));
  return most;
}

tuning_options asked(const tune_options& o, std::size_t workloads) {
  tuning_options options;
  options.goal = o.goal;
  options.workloads = workloads;
  options.first_seed = o.seed;
  options.seeds = o.seeds;
  options.held_out = o.held_out;
  options.evaluations = o.evaluations.value_or(UINT32_MAX);
  if (const auto seconds = o.budget_seconds; seconds || !o.evaluations)
    options.budget = std::chrono::nanoseconds(std::llround(1e9 * seconds.value_or(usual_budget_seconds)));
  return options;
}

void tell_over_budget(const tuning_options& options, std::chrono::nanoseconds needed) {
  const auto seconds = [](std::chrono::nanoseconds time) {
    const double s = std::chrono::duration<double>(time).count();
    return s < 10 ? fmt::format("{:.2g} s", s) : fmt::format("{:.0f} s", s);
  };
  complain(fmt::format("the budget is {}, but tuning needs about {} for its figures alone; fewer --tasks, "
                       "--seeds or --held-out",
                       seconds(options.budget), seconds(needed)));
}

/// Writes the profile to its file and the report to standard output, or, where the profile goes to standard
/// output, the report to standard error.
void hand_out(const tune_options& o, const tuning_result& r, const tuning_options& options,
              const tuning_story& story, const std::string& yaml) {
  if (!o.to_standard_output()) output_file(o.output, o.force).write(yaml);
  if (o.format == output_format::for_programs) {
    json answer = json_of(r, options, story);
    answer["output"] = o.to_standard_output() ? json() : json(o.output);
    answer["profile"] = yaml;
    return print(text_of(answer));
  }
  if (o.to_standard_output()) {
    print(yaml); // first, so that it is there if the report is lost
    return print_beside(text_of(r, options, story));
  }
  print(text_of(r, options, story) + fmt::format("Written to {}\n", o.output));
}

int tune_profile(const tune_options& o) {
  const auto workloads = read_workloads(o.workloads);
  if (!workloads) return wrong_usage;
  check_traces(*workloads);
  const std::uint64_t tasks = tasks_of(o, *workloads);
  const profile file = o.from ? load_profile(*o.from) : profile{};
  profile start = file;
  if (o.machine) use_machine(start.topology.machine, *o.machine);
  if (!o.to_standard_output()) (void)output_file(o.output, o.force); // sooner than after a minute

  const topology machine = discover(start.topology.machine);
  const tuning_objective objective = simulated_objective(start, *workloads, o.tasks);
  tuning_options options = asked(o, workloads->size());
  options.purposes = shipped_purposes();
  const std::vector<tuned_field> fields = tuned_fields(start, machine);
  options.assumed = assumptions(o, *workloads, start, fields);
  options.energy_assumed = assumed_of_energy(start, machine);
  engine e(suited(o));
  options.over_budget = [&options](std::chrono::nanoseconds needed) { tell_over_budget(options, needed); };
  std::optional<search_progress> line(std::in_place);
  options.progress = [&line](std::uint32_t evaluations, double best) { line->show(evaluations, best); };
  const tuning_result r = tune(e, start, fields, objective, options);
  line.reset();

  tuning_story story{
      machine.source(), o.from.value_or("the defaults"), {}, command_again(o, r.evaluations), tasks};
  for (const workload& w : *workloads) story.workloads.push_back(describe(w));
  hand_out(o, r, options, story, tuned_profile_text(r, file, options, story));
  return done;
}

void add_goal(CLI::App& app, tune_options& o) {
  app.add_option(
         "--goal", o.goal,
         "The figure to improve: p99 (the default), the 99th percentile of the response time; throughput, "
         "tasks a second; energy, joules per task with a p99 at most a tenth worse")
      ->transform(one_of({{"p99", static_cast<int>(tuning_goal::p99)},
                          {"throughput", static_cast<int>(tuning_goal::throughput)},
                          {"energy", static_cast<int>(tuning_goal::energy)}}))
      ->type_name("p99|throughput|energy");
}

void add_what_to_tune(CLI::App& app, tune_options& o) {
  app.add_option(
         "--machine", o.machine,
         "The machine to simulate: live, a file of hwloc's XML, a machine file, the folder of a recorded "
         "machine, or an hwloc synthetic "
         "description")
      ->type_name("live|FILE.xml|FILE.yaml|FOLDER|SYNTHETIC");
  app.add_option("--workload", o.workloads,
                 "The work of the machine, as for `corewise simulate`; may be given several times, and all "
                 "count alike")
      ->type_name("W")
      ->required();
  add_goal(app, o);
  app.add_option("--from,--profile", o.from, "The profile to start from, instead of the defaults")
      ->type_name("FILE");
  app.add_option("--output", o.output,
                 "The file for the tuned profile, which must not exist yet; - (the default) is standard "
                 "output, and then the report goes to standard error")
      ->type_name("FILE|-");
  app.add_flag("--force", o.force, "Overwrite the file if it exists");
}

void add_how_long(CLI::App& app, tune_options& o) {
  app.add_option("--budget", o.budget_seconds,
                 "The approximate time of the search, such as 60s (the default) or 10min")
      ->transform(CLI::AsNumberWithUnit(
          std::map<std::string, double>{{"ms", 0.001}, {"s", 1}, {"min", 60}, {"h", 3600}},
          CLI::AsNumberWithUnit::UNIT_REQUIRED, ""))
      ->check(number_between(0.001, 1e7).description(""))
      ->type_name("TIME");
  app.add_option("--evaluations", o.evaluations,
                 "The number of profiles to try, beside the start and the shipped ones; without --budget "
                 "there is then no limit of time")
      ->type_name("N")
      ->check(whole_number(0, UINT32_MAX).description(""));
  app.add_option("--tasks", o.tasks, "The number of tasks of each run; 100000 by default")
      ->type_name("N")
      ->check(whole_number(100, 1'000'000'000).description(""));
  app.add_option("--seeds", o.seeds,
                 "The number of runs of each profile and workload, each with its own seed; 8 by default")
      ->type_name("N")
      ->check(whole_number(1, 10'000).description(""));
  app.add_option("--held-out", o.held_out,
                 "The number of runs to judge by, on seeds that the search does not use; 20 by default")
      ->type_name("N")
      ->check(whole_number(2, 10'000).description(""));
  app.add_option("--seed", o.seed, "The first of all these seeds; 1 by default")
      ->type_name("N")
      ->check(whole_number(0, std::uint64_t{1} << 53).description(""));
  app.add_option("--jobs", o.jobs, "The number of runs at a time; one for each core by default")
      ->type_name("N")
      ->check(whole_number(1, 4096).description(""));
}

} // namespace

void add_tune(CLI::App& app, action& chosen) {
  auto options = std::make_shared<tune_options>();
  CLI::App* sub =
      app.add_subcommand("tune", "Search the numbers in a profile that suit this machine and this work");
  add_what_to_tune(*sub, *options);
  add_how_long(*sub, *options);
  add_format_option(*sub, options->format);
  sub->footer(
      "Searches a profile by simulation, from the best of the start and the shipped profiles default, "
      "latency,\n"
      "throughput and hybrid on, and judges it and those on runs that the search has not used. If luck may "
      "explain\n"
      "the gain, the command writes the start profile.\n\n"
      "Examples:\n"
      "  corewise tune --machine two-sockets.yaml --workload poisson,load=.7 --output tuned.yaml\n"
      "  corewise tune --goal energy --from server.yaml --workload closed,clients=64 --budget 10min\n"
      "  corewise tune --workload poisson,load=.3 --workload poisson,load=.9 --format json");
  sub->callback([options, &chosen] { chosen = [options] { return tune_profile(*options); }; });
}

} // namespace corewise::command
