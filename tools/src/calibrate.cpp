#include "calibrate/budget.hpp"
#include "calibrate/machine_text.hpp"
#include "calibrate/measuring.hpp"
#include "exit_status.hpp"
#include "streams.hpp"
#include "style.hpp"
#include "subcommands.hpp"

#include <corewise/topology/discovery.hpp>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

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
  return fmt::format("found `{}`; should be a time from 100ms to 60min, such as 10s", text);
}

/// Whether something would be lost by writing there.
bool is_taken(const std::string& file) {
  std::error_code ignored;
  const auto status = std::filesystem::symlink_status(file, ignored);
  return std::filesystem::is_regular_file(status) || std::filesystem::is_symlink(status);
}

[[noreturn]] void throw_errno(const std::string& file) {
  throw std::system_error(errno, std::generic_category(), file);
}

/// Before ten seconds are spent in vain.
void check_folder(const std::string& file) {
  const auto folder = std::filesystem::path(file).parent_path();
  if (::access(folder.empty() ? "." : folder.c_str(), W_OK) != 0) throw_errno(file);
}

void write_file(const std::string& file, std::string_view text, bool force) {
  const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (force || !is_taken(file) ? O_TRUNC : O_EXCL);
  const int fd = ::open(file.c_str(), flags, 0666);
  if (fd < 0) throw_errno(file);
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const int error = errno;
      ::close(fd);
      throw std::system_error(error, std::generic_category(), file);
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::close(fd) != 0) throw_errno(file);
}

/// One line on standard error, where that is a terminal.
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
  if (options.output == "-") return print(machine_text(measure(options))), done;
  if (!options.force && is_taken(options.output)) {
    complain(fmt::format("{}: exists already; --force overwrites it", options.output));
    return refused;
  }
  check_folder(options.output);
  const calibration found = measure(options);
  write_file(options.output, machine_text(found), options.force);
  const figure_count count = count_figures(found);
  print(fmt::format("{}: {} measured, {} not; the file says why\n", options.output,
                    counted(count.measured, "cost"), count.missing));
  return done;
}

} // namespace

void add_calibrate(CLI::App& app, action& chosen) {
  auto options = std::make_shared<calibrate_options>();
  CLI::App* sub =
      app.add_subcommand("calibrate", "What do things cost on this machine? Writes a machine file");
  sub->add_option("--budget", options->budget, "How long to measure, in ms, s or min; 10s unless told")
      ->type_name("TIME")
      ->check(CLI::Validator(check_budget, ""));
  sub->add_option("--output", options->output, "Where to write the machine file; standard output unless told")
      ->type_name("FILE|-");
  sub->add_flag("--force", options->force, "Overwrite the file");
  sub->footer(
      "Measures the machine that it runs on: the speed of each kind of core, waking a thread, and what a "
      "cache line and\n"
      "a stolen task cost between CPUs at each level. What cannot be measured is left out of the file, "
      "which says why.\n"
      "Leave the machine alone meanwhile: figures that spread too much are called noisy.\n\n"
      "Examples:\n"
      "  corewise calibrate --output machine.yaml\n"
      "  corewise calibrate --budget 1min --output machine.yaml --force\n"
      "  corewise calibrate --budget 500ms | grep -v '#'");
  sub->callback([options, &chosen] { chosen = [options] { return run_calibrate(*options); }; });
}

} // namespace corewise::command
