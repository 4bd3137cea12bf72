#include "connect/admin_client.hpp"
#include "exit_status.hpp"
#include "printable.hpp"
#include "streams.hpp"
#include "subcommands.hpp"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>
#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <string_view>

namespace corewise::command {

namespace {

/// More than the server takes, so that it says so.
constexpr std::size_t bytes_most = std::size_t{1} << 20;
constexpr std::uint32_t longest_trial_s = 24 * 60 * 60;

struct reload_options {
  admin_address address;
  std::string file;
  std::string revert_after; ///< empty: the profile stays
};

/// Checks "60s", "5m" or "1h".
std::string check_trial(const std::string& text) {
  std::uint32_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [unit, why] = std::from_chars(text.data(), end, number);
  const std::size_t which = end - unit == 1 ? std::string_view("smh").find(*unit) : std::string_view::npos;
  constexpr std::uint32_t seconds[] = {1, 60, 3600};
  if (why == std::errc() && number != 0 && which != std::string_view::npos &&
      number <= longest_trial_s / seconds[which])
    return "";
  return fmt::format("found `{}`; expected a time as 60s, 5m or 1h, up to 24h", text);
}

/// Puts the file's name in front of the places in a list of errors, which the server calls "request".
std::string with_name(std::string_view errors, const std::string& file) {
  constexpr std::string_view name = "request:";
  std::string out;
  while (!errors.empty()) {
    const std::size_t end = std::min(errors.find('\n'), errors.size() - 1) + 1;
    std::string_view line = errors.substr(0, end);
    errors.remove_prefix(end);
    if (line.starts_with(name)) {
      out += (file == "-" ? "standard input" : file) + ':';
      line.remove_prefix(name.size());
    }
    out += line;
  }
  return out;
}

/// Explains a refusal that comes from a path which is relative to the file's folder: the engine takes it as one from the
/// directory of its daemon.
void explain_relative_path(std::string_view errors) {
  constexpr std::string_view found = "topology.source.xml: found \"";
  const std::size_t at = errors.find(found);
  if (at == std::string_view::npos || errors.substr(at + found.size()).starts_with('/')) return;
  complain("a relative path in a profile that is sent begins at the directory of the daemon, not at the "
           "folder of the file; "
           "write it as the engine has it, or in full");
}

int reload(const reload_options& options) {
  const admin_client engine(options.address);
  const std::string profile = read_text(options.file, bytes_most);
  const std::string target =
      options.revert_after.empty() ? "/profile" : "/profile?revert_after=" + options.revert_after;
  const reply answer = engine.put(target, profile);
  if (answer.status == 200) return print(printable(answer.body)), done;
  if (answer.status == 422)
    print_aside(printable(with_name(answer.body, options.file))), explain_relative_path(answer.body);
  else
    complain_about(answer, engine, target);
  return refused;
}

} // namespace

void add_reload(CLI::App& app, action& chosen) {
  auto options = std::make_shared<reload_options>();
  CLI::App* sub = app.add_subcommand("reload", "Give a running engine another profile");
  add_connect_option(*sub, options->address)->required();
  sub->add_option("PROFILE", options->file, "The profile, which replaces the whole one; - is standard input")
      ->required();
  sub->add_option(
         "--revert-after", options->revert_after,
         "On trial: the profile before it comes back after this time, unless another reload confirms it")
      ->type_name("TIME")
      ->check(CLI::Validator(check_trial, ""));
  sub->footer(
      "The profile holds as a whole, or not at all. Then all errors go to standard error, as those of\n"
      "`corewise check`, and the exit status is 1. Only the control socket takes a profile, or a\n"
      "read-only address with the token.\n\n"
      "Examples:\n"
      "  corewise reload --connect /run/mydaemon/corewise.sock tuned.yaml\n"
      "  corewise reload --connect corewise.sock tuned.yaml --revert-after 5m");
  sub->callback([options, &chosen] { chosen = [options] { return reload(*options); }; });
}

} // namespace corewise::command
