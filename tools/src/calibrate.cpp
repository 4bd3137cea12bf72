#include "calibrate/budget.hpp"
#include "calibrate/machine_text.hpp"
#include "calibrate/measuring.hpp"
#include "exit_status.hpp"
#include "output_file.hpp"
#include "streams.hpp"
#include "style.hpp"
#include "subcommands.hpp"

#include <corewise/topology/discovery.hpp>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>
#include <fmt/format.h>
#include <unistd.h>

namespace corewise::command {

namespace {

constexpr std::chrono::milliseconds least_budget{100};
constexpr std::chrono::hours most_budget{1};

struct calibrate_options {
  std::string budget = "10s";
  std::string output = "-";
  bool force = false;
};

std::string check_budget(const std::string& text) {
  const auto budget = parse_budget(text);
  if (budget && *budget >= least_budget && *budget <= most_budget) return "";
  return fmt::format("found `{}`; expected a time from 100ms to 60min, such as 10s", text);
}

/// Shows progress in one line on standard error, where that is a terminal.
class calibration_progress {
 public:
  explicit calibration_progress(std::string budget)
      : enabled_(::isatty(STDERR_FILENO) == 1),
        budget_(std::move(budget)) {}
  calibration_progress(const calibration_progress&) = delete;
  calibration_progress& operator=(const calibration_progress&) = delete;
  ~calibration_progress() {
    if (enabled_) print_aside("\r\033[K");
  }

  void show(std::string_view what, double over) const {
    if (enabled_) print_aside(fmt::format("\r{:3.0f}% of {}: {}\033[K", 100 * over, budget_, what));
  }

 private:
  bool enabled_;
  std::string budget_;
};

calibration measure(const calibrate_options& options) {
  const topology machine = discover({});
  const calibration_progress line(options.budget);
  return calibrate(machine, *parse_budget(options.budget),
                   [&](std::string_view what, double over) { line.show(what, over); });
}

int run_calibrate(const calibrate_options& options) {
  if (is_standard_output(options.output)) return print(machine_text(measure(options))), done;
  const output_file file(options.output, options.force);
  const calibration found = measure(options);
  file.write(machine_text(found));
  const figure_count count = count_figures(found);
  print(fmt::format("{}: {} measured, {} not; the file says why\n", options.output,
                    counted(count.measured, "cost"), count.missing));
  return done;
}

} // namespace

void add_calibrate(CLI::App& app, action& chosen) {
  auto options = std::make_shared<calibrate_options>();
  CLI::App* sub = app.add_subcommand(
      "calibrate", "Measure the costs of operations on this machine, and write a machine file");
  sub->add_option("--budget", options->budget, "The time to measure, in ms, s or min; 10s by default")
      ->type_name("TIME")
      ->check(CLI::Validator(check_budget, ""));
  sub->add_option("--output", options->output, "The machine file to write; standard output by default")
      ->type_name("FILE|-");
  sub->add_flag("--force", options->force, "Overwrite the file if it exists");
  sub->footer(
      "Measures the machine on which it runs: the speed of each kind of core, the cost of waking a "
      "thread, and the costs\n"
      "of a cache line and of a stolen task between CPUs at each level. The file leaves out the figures "
      "that cannot be\n"
      "measured, and says why.\n"
      "Leave the machine idle meanwhile: figures that spread too much are marked as noisy.\n\n"
      "Examples:\n"
      "  corewise calibrate --output machine.yaml\n"
      "  corewise calibrate --budget 1min --output machine.yaml --force\n"
      "  corewise calibrate --budget 500ms | grep -v '#'");
  sub->callback([options, &chosen] { chosen = [options] { return run_calibrate(*options); }; });
}

} // namespace corewise::command
