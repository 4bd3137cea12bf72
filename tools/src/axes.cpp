#include "axes/axis.hpp"
#include "exit_status.hpp"
#include "json_text.hpp"
#include "machine_options.hpp"
#include "streams.hpp"
#include "subcommands.hpp"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace corewise::command {

namespace {

using monotonic = std::chrono::steady_clock;

constexpr std::chrono::milliseconds warm_up{300};
constexpr std::chrono::milliseconds round_time{50};

struct axis_options {
  machine_options machine;
  std::uint32_t rounds = 15;
};

struct axis_result {
  std::vector<double> ns_per_op; ///< of each round, sorted
  std::uint64_t ops = 0;
  std::uint64_t seen = 0; ///< operations that the tasks saw done
  std::chrono::nanoseconds wall{0};

  /// The value below which `part` of the rounds lie; of the rounds there are, the nearest.
  double quantile(double part) const {
    const auto last = static_cast<double>(ns_per_op.size() - 1);
    return ns_per_op[static_cast<std::size_t>(std::lround(part * last))];
  }
};

std::chrono::nanoseconds run_round(const axis& workload, engine& e, std::chrono::nanoseconds at_least,
                                   axis_result& result) {
  const auto begin = monotonic::now();
  std::uint64_t ops = 0;
  std::chrono::nanoseconds took{0};
  for (; took < at_least; took = monotonic::now() - begin) {
    result.seen += workload.pass(e);
    ops += workload.ops;
  }
  result.ops += ops;
  result.wall += took;
  result.ns_per_op.push_back(static_cast<double>(took.count()) / static_cast<double>(ops));
  return took;
}

axis_result measure(const axis& workload, engine& e, std::uint32_t rounds) {
  axis_result warm;
  run_round(workload, e, warm_up, warm);
  axis_result result;
  for (std::uint32_t i = 0; i < rounds; ++i) run_round(workload, e, round_time, result);
  std::ranges::sort(result.ns_per_op);
  if (warm.seen != warm.ops || result.seen != result.ops)
    throw std::runtime_error(fmt::format("{} lost work: {} of {} operations were seen done", workload.name,
                                         warm.seen + result.seen, warm.ops + result.ops));
  return result;
}

void print_result(const axis& workload, const axis_options& options, const profile& p, engine& e,
                  const axis_result& result) {
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
  p.limits.in_flight = 0; // the workload has as many tasks as it has
  engine e(p);
  for (const std::string& warning : e.warnings()) complain("warning: " + warning);
  const axis_result result = measure(workload, e, options.rounds);
  e.drain();
  print_result(workload, options, p, e, result);
  return done;
}

} // namespace

void add_axes(CLI::App& run, action& chosen) {
  for (const axis* workload : {&ping_pong, &chained_fork, &fork_many, &yield_many}) {
    auto options = std::make_shared<axis_options>();
    CLI::App* app = run.add_subcommand(std::string(workload->name),
                                       fmt::format("What an operation costs: {}", workload->description));
    app->add_option("--rounds", options->rounds,
                    "How many rounds of 50 ms to measure, after 300 ms of warm-up; 15 unless told")
        ->type_name("N")
        ->check(CLI::Range(1, 100'000).description(""));
    add_machine_options(*app, options->machine);
    app->footer(
        "Each round repeats the workload; told are the median, the 10th and the 90th percentile of the "
        "rounds' averages.\n"
        "Every result is checked: work that is lost is an error.");
    app->callback([workload, options, &chosen] {
      chosen = [workload, options] { return run_axis(*workload, *options); };
    });
  }
}

} // namespace corewise::command
