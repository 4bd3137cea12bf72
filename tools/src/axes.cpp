#include "axes/axis.hpp"
#include "axes/rounds.hpp"
#include "exit_status.hpp"
#include "json_text.hpp"
#include "machine_options.hpp"
#include "number_options.hpp"
#include "streams.hpp"
#include "subcommands.hpp"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <fmt/format.h>

#include <functional>
#include <stdexcept>

namespace corewise::command {

namespace {

struct axis_options {
  machine_options machine;
  std::uint32_t rounds = 15;
};

measured measure(const axis& workload, engine& e, std::uint32_t rounds) {
  try {
    return measure_rounds(workload.ops, [&] { return workload.pass(e); }, std::identity{}, rounds);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(fmt::format("{}: {}", workload.name, error.what()));
  }
}

void print_result(const axis& workload, const axis_options& options, const profile& p, engine& e,
                  const measured& result) {
  const std::uint64_t tasks_run = e.metrics().total().executed;
  const std::string name = p.name.empty() ? "default" : p.name;
  if (options.machine.format == output_format::for_programs)
    return print(text_of(json{{"workload", workload.name},
                              {"profile", name},
                              {"workers", e.workers().size()},
                              {"unit", "ns/op"},
                              {"median", result.quantile(0.5)},
                              {"p10", result.quantile(0.1)},
                              {"p90", result.quantile(0.9)},
                              {"rounds", options.rounds},
                              {"ops", result.ops},
                              {"wall_ns", result.wall.count()},
                              {"tasks_run", tasks_run},
                              {"checksum", result.seen}}));
  print(fmt::format(
      "{}, profile {}, {} workers: {:.1f} ns/op (p10 {:.1f}, p90 {:.1f}; {} rounds, {} operations)\n",
      workload.name, name, e.workers().size(), result.quantile(0.5), result.quantile(0.1),
      result.quantile(0.9), options.rounds, result.ops));
}

int run_axis(const axis& workload, const axis_options& options) {
  profile p = options.machine.configured();
  if (refuse_workers(p)) return wrong_usage;
  p.limits.in_flight = 0; // the workload has as many tasks as it has
  engine e(p);
  for (const std::string& warning : e.warnings()) complain("warning: " + warning);
  const measured result = measure(workload, e, options.rounds);
  e.drain();
  if (const std::uint64_t run = e.metrics().total().executed;
      workload.each_is_a_task && run != result.all_ops)
    throw std::runtime_error(
        fmt::format("{}: {} tasks were run, {} were submitted", workload.name, run, result.all_ops));
  print_result(workload, options, p, e, result);
  return done;
}

} // namespace

void add_axes(CLI::App& run, action& chosen) {
  for (const axis* workload : {&ping_pong, &ping_pong_halves, &chained_fork, &fork_many, &yield_many}) {
    auto options = std::make_shared<axis_options>();
    CLI::App* app = run.add_subcommand(std::string(workload->name),
                                       fmt::format("The cost of an operation: {}", workload->description));
    app->add_option("--rounds", options->rounds,
                    "The number of rounds of 50 ms to measure, after 300 ms of warm-up; 15 by default")
        ->type_name("N")
        ->check(whole_number(1, 100'000).description(""));
    add_machine_options(*app, options->machine);
    app->footer("Each round repeats the workload; the command prints the median, the 10th and the 90th "
                "percentile of the rounds' averages.\n"
                "It checks every result: lost work is an error.");
    app->callback([workload, options, &chosen] {
      chosen = [workload, options] { return run_axis(*workload, *options); };
    });
  }
}

} // namespace corewise::command
