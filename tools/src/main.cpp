#include "connect/admin_client.hpp"
#include "exit_status.hpp"
#include "streams.hpp"
#include "subcommands.hpp"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <fmt/format.h>

#include <exception>

using namespace corewise::command;

namespace {

void describe(CLI::App& app, action& chosen) {
  app.name("corewise");
  app.set_version_flag("--version", "corewise " COREWISE_VERSION, "Print the version and exit");
  app.require_subcommand(1);
  add_topology(app, chosen);
  add_check(app, chosen);
  add_explain(app, chosen);
  add_simulate(app, chosen);
  add_fleet(app, chosen);
  add_calibrate(app, chosen);
  add_tune(app, chosen);
  CLI::App* run = app.add_subcommand("run", "Run real work on the engine");
  run->require_subcommand(1);
  add_digest(*run, chosen);
  add_axes(*run, chosen);
  add_health(app, chosen);
  add_dump(app, chosen);
  add_reload(app, chosen);
  add_top(app, chosen);
  add_trace(app, chosen);
  app.footer("`corewise COMMAND --help` has the options and examples of each.\n"
             "Exit status: 0 done; 1 the answer is no, or an error; 2 wrong usage; 3 no engine answers.");
}

/// The part of the command line that names subcommands: "corewise run digest".
std::string command_of(const CLI::App& app) {
  std::string command = app.get_name();
  for (const CLI::App* sub : app.get_subcommands()) command += ' ' + command_of(*sub);
  return command;
}

int refuse_usage(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> unknown = app.remaining(true);
  const bool no_command = error.get_name() == "RequiredError" && !unknown.empty();
  complain(no_command ? fmt::format("`{}` is not a command", unknown.front()) : error.what());
  complain(fmt::format("try `{} --help`", command_of(app)));
  return wrong_usage;
}

int run(int argc, char** argv) {
  CLI::App app{"A task-scheduling engine that knows the machine"};
  action chosen;
  describe(app, chosen);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    print(app.help());
    return done;
  } catch (const CLI::CallForAllHelp&) {
    print(app.help("", CLI::AppFormatMode::All));
    return done;
  } catch (const CLI::CallForVersion& version) {
    print(fmt::format("{}\n", version.what()));
    return done;
  } catch (const CLI::ParseError& error) {
    return refuse_usage(app, error);
  }
  return chosen();
}

} // namespace

int main(int argc, char** argv) {
  guard_standard_streams();
  try {
    return run(argc, argv);
  } catch (const unreachable& error) {
    complain(error.what());
    return no_engine;
  } catch (const std::exception& error) {
    complain(error.what());
    return refused;
  }
}
