#include "exit_status.hpp"
#include "explanation.hpp"
#include "load_state.hpp"
#include "machine_options.hpp"
#include "streams.hpp"
#include "style.hpp"
#include "subcommands.hpp"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <fmt/format.h>

namespace corewise::command {

namespace {

constexpr std::size_t state_bytes_most = std::size_t{64} << 20;

struct explain_options {
  machine_options machine;
  std::string state;
};

int explain_state(const explain_options& options) {
  const profile p = options.machine.configured();
  const divided_machine m(p);
  try {
    const load_state state = parse_state(read_text(options.state, state_bytes_most), m);
    const explanation answer = explain(state, m, p);
    if (options.machine.format == output_format::for_programs)
      print(text_of(json_of(answer)));
    else
      print(text_of(answer, state, m, style::of_standard_output(colour_use::automatic)));
    return done;
  } catch (const state_error& error) {
    for (const std::string& problem : error.problems())
      complain(fmt::format("{}: {}", options.state == "-" ? "standard input" : options.state, problem));
    return refused;
  }
}

} // namespace

void add_explain(CLI::App& app, action& chosen) {
  auto options = std::make_shared<explain_options>();
  CLI::App* sub = app.add_subcommand("explain", "Show where the engine would place a task, and why");
  sub->add_option("--state", options->state, "The origin of the task and the loads of the workers, in JSON")
      ->type_name("FILE|-")
      ->required();
  add_machine_options(*sub, options->machine);
  sub->footer(
      "The state; every part is optional (the values are the defaults, or examples behind `or`):\n"
      "  {\"origin\": {\"outside\": true}      or {\"worker\": 3} or {\"cpu\": 5}: submitted from there\n"
      "   \"hint\": {}                       or \"group\", \"package\", \"node\", \"worker\": their numbers; "
      "\"kind\": its name\n"
      "   \"load\": {\"0\": 2, \"3\": 1}         tasks of each worker, one of them running; all others are "
      "parked\n"
      "   \"blocking\": []                   workers in blocking calls\n"
      "   \"task_time_ns\": 50000            longer tasks are sent away more easily; with 1000 and less the\n"
      "                                    core of the origin's CPU may be preferred\n"
      "   \"seed\": 1}                       draws the home of a task from outside, and what\n"
      "                                    the policy draws\n\n"
      "Examples:\n"
      "  corewise explain --machine two-sockets.yaml --state state.json --format json\n"
      "  echo '{\"origin\": {\"worker\": 0}, \"load\": {\"0\": 3}}' | corewise explain --state -");
  sub->callback([options, &chosen] { chosen = [options] { return explain_state(*options); }; });
}

} // namespace corewise::command
