#include "connect/admin_client.hpp"
#include "exit_status.hpp"
#include "machine_options.hpp"
#include "printable.hpp"
#include "streams.hpp"
#include "subcommands.hpp"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <memory>

namespace corewise::command {

namespace {

struct dump_options {
  admin_address address;
  output_format format = output_format::for_people;
};

int show_dump(const dump_options& options) {
  const admin_client engine(options.address);
  const bool json = options.format == output_format::for_programs;
  const reply answer = engine.get("/dump", json ? "application/json" : "text/plain");
  if (answer.status != 200) return complain_about(answer, engine, "/dump"), refused;
  print(json ? answer.body : printable(answer.body));
  return done;
}

} // namespace

void add_dump(CLI::App& app, action& chosen) {
  auto options = std::make_shared<dump_options>();
  CLI::App* sub = app.add_subcommand("dump", "Show what each worker of a running engine does");
  add_connect_option(*sub, options->address)->required();
  add_format_option(*sub, options->format);
  sub->add_flag_callback(
      "--json", [options] { options->format = output_format::for_programs; }, "The same as --format json");
  sub->footer("Only the control socket has it, or a read-only address with the token: it names tasks.\n\n"
              "Examples:\n"
              "  corewise dump --connect /run/mydaemon/corewise.sock\n"
              "  corewise dump --connect corewise.sock --format json | jq '.seats[] | select(.stuck)'");
  sub->callback([options, &chosen] { chosen = [options] { return show_dump(*options); }; });
}

} // namespace corewise::command
