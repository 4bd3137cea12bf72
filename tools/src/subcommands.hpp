#pragma once

#include <CLI/App.hpp>

#include <functional>

namespace corewise::command {

/// Does what the command line asked for. Returns an `exit_status`.
using action = std::function<int()>;

// Each function adds its subcommand to `app`. When the command line names the subcommand, parsing sets
// `chosen`.

void add_topology(CLI::App& app, action& chosen);
void add_check(CLI::App& app, action& chosen);
void add_explain(CLI::App& app, action& chosen);
void add_simulate(CLI::App& app, action& chosen);
void add_fleet(CLI::App& app, action& chosen);
void add_calibrate(CLI::App& app, action& chosen);
void add_digest(CLI::App& run, action& chosen);
/// Adds `ping-pong`, `ping-pong-halves`, `chained-fork`, `fork-many`, `yield-many`.
void add_axes(CLI::App& run, action& chosen);
void add_tune(CLI::App& app, action& chosen);
// These ask a running engine, and throw `unreachable` if none answers.
void add_health(CLI::App& app, action& chosen);
void add_dump(CLI::App& app, action& chosen);
void add_reload(CLI::App& app, action& chosen);
void add_top(CLI::App& app, action& chosen);
void add_trace(CLI::App& app, action& chosen);

} // namespace corewise::command
