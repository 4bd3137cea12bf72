#include "connect/admin_client.hpp"
#include "exit_status.hpp"
#include "printable.hpp"
#include "streams.hpp"
#include "subcommands.hpp"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <memory>

namespace corewise::command {

namespace {

struct health_options {
  admin_address address;
  bool live = false;
};

int show_health(const health_options& options) {
  const admin_client engine(options.address);
  const std::string target = options.live ? "/health/live" : "/health/ready";
  const reply answer = engine.get(target);
  if (answer.status != 200 && answer.status != 503) return complain_about(answer, engine, target), refused;
  print(printable(answer.body));
  return answer.status == 200 ? done : refused;
}

} // namespace

void add_health(CLI::App& app, action& chosen) {
  auto options = std::make_shared<health_options>();
  CLI::App* sub = app.add_subcommand("health", "Ask a running engine whether it is well");
  add_connect_option(*sub, options->address)->required();
  sub->add_flag("--live", options->live, "Whether it should go on, not whether it should get requests");
  sub->footer(
      "Prints ok, degraded, wedged or ended, and a line for each trouble.\n"
      "Exit status: 0 the engine is ok; 1 it is not (with --live: it is wedged); 3 no engine answers.\n\n"
      "Examples:\n"
      "  corewise health --connect /run/mydaemon/corewise.sock\n"
      "  corewise health --connect 127.0.0.1:9464 --live");
  sub->callback([options, &chosen] { chosen = [options] { return show_health(*options); }; });
}

} // namespace corewise::command
