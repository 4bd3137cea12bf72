#include "connect/admin_client.hpp"
#include "exit_status.hpp"
#include "number_options.hpp"
#include "output_file.hpp"
#include "streams.hpp"
#include "subcommands.hpp"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>
#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <string>

namespace corewise::command {

namespace {

/// As long as the server lets a trace of 200 MB take.
constexpr std::chrono::seconds time_to_send{210};

struct trace_options {
  admin_address address;
  std::string file;
  unsigned seconds = 1;
  bool json = false;
  bool force = false;
};

int take_trace(const trace_options& options) {
  const output_file file(options.file, options.force);
  const admin_client engine(options.address);
  const reply answer = engine.get(
      fmt::format("/trace?seconds={}&format={}", options.seconds, options.json ? "json" : "perfetto"), "*/*",
      admin_client::time_limit + std::chrono::seconds{2 * options.seconds} + time_to_send);
  if (answer.status != 200) return complain_about(answer, engine, "/trace"), refused;
  file.write(answer.body);
  file.print_report(
      fmt::format("{}: {} bytes, for https://ui.perfetto.dev\n", options.file, answer.body.size()));
  return done;
}

} // namespace

void add_trace(CLI::App& app, action& chosen) {
  auto options = std::make_shared<trace_options>();
  CLI::App* sub = app.add_subcommand("trace", "Record what each thread of a running engine does");
  add_connect_option(*sub, options->address)->required();
  sub->add_option("-o,--output", options->file, "The file for the trace")->required()->type_name("FILE");
  sub->add_option("--seconds", options->seconds, "For how long")
      ->check(whole_number(1, 60))
      ->capture_default_str();
  sub->add_flag("--json", options->json, "As JSON (Trace Event Format), not in Perfetto's own format");
  sub->add_flag("--force", options->force, "Overwrite the file if it exists");
  sub->footer(
      "Only the control socket gives a trace, or a read-only address with the token: it names tasks.\n"
      "docs/traces.md says what is in it.\n\n"
      "Examples:\n"
      "  corewise trace --connect /run/mydaemon/corewise.sock --seconds 5 --output daemon.perfetto");
  sub->callback([options, &chosen] { chosen = [options] { return take_trace(*options); }; });
}

} // namespace corewise::command
