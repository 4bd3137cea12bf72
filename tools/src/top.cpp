#include "connect/admin_client.hpp"
#include "exit_status.hpp"
#include "machine_options.hpp"
#include "number_options.hpp"
#include "streams.hpp"
#include "style.hpp"
#include "subcommands.hpp"
#include "top/difference.hpp"
#include "top/picture.hpp"
#include "top/screen.hpp"
#include "top/source.hpp"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>

namespace corewise::command {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

struct top_options {
  admin_address address;
  std::string replay;
  std::string record;
  std::string interval = "1s";
  std::uint64_t count = 0; ///< 0: without end
  bool once = false;
  colour_use colour = colour_use::automatic;
};

/// Reads "500ms", "1s" or "1min".
std::optional<milliseconds> interval_of(const std::string& text) {
  constexpr milliseconds least{100};
  constexpr std::chrono::hours most{1};
  std::uint32_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [unit, why] = std::from_chars(text.data(), end, number);
  const std::string_view name(unit, static_cast<std::size_t>(end - unit));
  milliseconds time{number};
  if (name == "s") time = std::chrono::seconds{number};
  if (name == "min") time = std::chrono::minutes{number};
  if (why != std::errc() || (name != "ms" && name != "s" && name != "min") || time < least || time > most)
    return std::nullopt;
  return time;
}

std::string check_interval(const std::string& text) {
  if (interval_of(text)) return "";
  return fmt::format("found `{}`; expected a time from 100ms to 60min, such as 1s", text);
}

/// The readings of a source: the newest and the one before it.
class readings {
 public:
  explicit readings(reading_source& from) : from_(from) {}

  /// Takes the next reading; if the engine does not answer, the last one stays. Returns whether there may be
  /// more. Throws `unreachable` if there is no reading at all.
  bool take() {
    trouble_.clear();
    try {
      std::optional<reading> next = from_.next();
      if (!next) return false;
      before_ = std::move(now_);
      now_ = std::move(next);
    } catch (const unreachable& error) {
      if (!now_) throw;
      trouble_ = error.what();
    }
    return true;
  }

  bool any() const noexcept { return now_.has_value(); }
  /// Returns the exit status, if the readings end here.
  int status() const noexcept { return trouble_.empty() ? done : no_engine; }
  const std::string& trouble() const noexcept { return trouble_; }
  picture draw(frame in) const {
    if (!trouble_.empty()) in.note = trouble_;
    return picture_of(*now_, between(before_ ? &*before_ : nullptr, *now_), in);
  }

 private:
  reading_source& from_;
  std::optional<reading> before_;
  std::optional<reading> now_;
  std::string trouble_;
};

std::size_t columns_of_pipe() {
  constexpr std::size_t usual = 100;
  const char* const wanted = std::getenv("COLUMNS");
  const unsigned long columns = wanted == nullptr ? 0 : std::strtoul(wanted, nullptr, 10);
  return columns == 0 || columns > 1000 ? usual : columns;
}

/// Prints each reading below the one before it.
int print_all(const top_options& options, reading_source& from) {
  readings seen(from);
  const frame in{style::of_standard_output(options.colour), columns_of_pipe(), 0, from.name(), {}, 0};
  const std::uint64_t count = options.once ? 1 : options.count;
  const milliseconds interval = *interval_of(options.interval);
  auto due = steady_clock::now();
  for (std::uint64_t taken = 0; seen.take();) {
    if (seen.trouble().empty()) {
      std::string text = taken == 0 ? "" : "\n";
      for (const std::string& drawn : seen.draw(in).lines) text += drawn + '\n';
      print(text);
    } else {
      complain(seen.trouble());
    }
    if (++taken == count) break;
    due = std::max(due + interval, steady_clock::now()); // what was missed is not made up for
    if (options.replay.empty()) std::this_thread::sleep_until(due);
  }
  if (!seen.any()) throw reading_error(from.name() + ": there are no readings");
  return seen.status();
}

/// Moves the first group in the list of a picture.
std::size_t scrolled(std::size_t first, const picture& in, key pressed) {
  switch (pressed) {
  case key::up: return first - std::min<std::size_t>(first, 1);
  case key::down: return std::min(first + 1, in.furthest);
  case key::page_up: return first - std::min(first, in.groups_shown);
  case key::page_down: return std::min(first + in.groups_shown, in.furthest);
  case key::home: return 0;
  case key::none:
  case key::quit: break;
  }
  return first;
}

/// Draws each reading in place of the one before it.
int draw_all(const top_options& options, reading_source& from) {
  readings seen(from);
  frame in{style::of_standard_output(options.colour), 80, 24, from.name(), {}, 0};
  if (!seen.take()) throw reading_error(from.name() + ": there are no readings");
  const milliseconds interval = *interval_of(options.interval);
  screen terminal;
  std::uint64_t taken = 1;
  auto due = steady_clock::now() + interval;
  for (bool leaves = false;;) {
    const screen::extent size = screen::size();
    in.columns = size.columns, in.rows = size.rows;
    const picture drawn = seen.draw(in);
    screen::show(drawn.lines);
    if (leaves) return done;
    in.first_group = drawn.first_group;
    // All keys that have come at once: a picture takes longer than a key.
    for (key k = terminal.wait_until(due); k != key::none && !leaves; k = terminal.take()) {
      in.first_group = scrolled(in.first_group, drawn, k);
      leaves = k == key::quit;
    }
    if (leaves) continue;
    if (steady_clock::now() < due) continue;
    if (taken == options.count) return seen.status();
    if (!seen.take()) in.note = "the recording ends here; q leaves it";
    ++taken;
    due = std::max(due + interval, steady_clock::now());
  }
}

int run_top(const top_options& options) {
  const auto from = options.replay.empty() ? live_readings(options.address, options.record)
                                           : recorded_readings(options.replay);
  return !options.once && screen::is_there() ? draw_all(options, *from) : print_all(options, *from);
}

} // namespace

void add_top(CLI::App& app, action& chosen) {
  auto options = std::make_shared<top_options>();
  CLI::App* sub =
      app.add_subcommand("top", "Watch a running engine: load, steals, waiting times, spares, stuck tasks");
  CLI::Option* const address = add_connect_option(*sub, options->address);
  CLI::Option* const replay =
      sub->add_option("--replay", options->replay, "Show a recorded file instead; - is standard input");
  replay->type_name("FILE")->excludes(address);
  sub->add_option("--record", options->record, "Also write the readings into a new file, as lines of JSON")
      ->type_name("FILE")
      ->excludes(replay);
  sub->add_option("--interval", options->interval,
                  "The time between readings, in ms, s or min; 1s by default")
      ->type_name("TIME")
      ->check(CLI::Validator(check_interval, ""));
  CLI::Option* const count = sub->add_option("--count", options->count, "End after N readings")
                                 ->type_name("N")
                                 ->check(whole_number(1, 1'000'000'000).description(""));
  sub->add_flag("--once", options->once,
                "Take one reading, and print what has happened since the engine began")
      ->excludes(count);
  add_colour_option(*sub, options->colour);
  sub->footer("On a terminal the picture stays in its place: arrows and page keys move the list of groups, q "
              "ends. Elsewhere\n"
              "each reading is printed below the one before it; COLUMNS says how wide.\n"
              "A read-only address has no names of tasks without the token.\n\n"
              "Examples:\n"
              "  corewise top --connect /run/mydaemon/corewise.sock\n"
              "  corewise top --connect 127.0.0.1:9464 --interval 10s --record night.jsonl > night.txt\n"
              "  corewise top --replay night.jsonl");
  sub->callback([options, &chosen] {
    if (options->address.where.empty() && options->replay.empty())
      throw CLI::RequiredError("--connect or --replay");
    chosen = [options] { return run_top(*options); };
  });
}

} // namespace corewise::command
