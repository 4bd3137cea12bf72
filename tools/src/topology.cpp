#include "exit_status.hpp"
#include "json_text.hpp"
#include "machine_options.hpp"
#include "machine_picture.hpp"
#include "streams.hpp"
#include "style.hpp"
#include "subcommands.hpp"

#include <corewise/topology/machine_json.hpp>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>

namespace corewise::command {

namespace {

struct topology_options {
  machine_options machine;
  colour_use colour = colour_use::automatic;
  bool all = false;
};

int show_topology(const topology_options& options) {
  const divided_machine m(options.machine.configured());
  if (options.machine.format == output_format::for_programs)
    print(text_of(json::parse(machine_json(m.machine, m.groups, m.workers))));
  else
    print(picture_of(m, style::of_standard_output(options.colour), options.all));
  return done;
}

} // namespace

void add_topology(CLI::App& app, action& chosen) {
  auto options = std::make_shared<topology_options>();
  CLI::App* sub = app.add_subcommand("topology", "Show the machine as the engine sees it");
  add_machine_options(*sub, options->machine);
  add_colour_option(*sub, options->colour);
  sub->add_flag("--all", options->all, "Show all similar lines, long lists and matrices");
  sub->footer("Examples:\n"
              "  corewise topology\n"
              "  corewise topology --machine 'pack:2 numa:1 l3:4 core:8 pu:2' --all\n"
              "  corewise topology --profile server.yaml --format json");
  sub->callback([options, &chosen] { chosen = [options] { return show_topology(*options); }; });
}

} // namespace corewise::command
