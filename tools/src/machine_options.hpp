#pragma once

#include "style.hpp"

#include <corewise/engine/profile.hpp>
#include <corewise/topology/groups.hpp>
#include <corewise/topology/topology.hpp>
#include <corewise/topology/workers.hpp>

#include <CLI/App.hpp>
#include <CLI/Validators.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace corewise::command {

/// More than any profile or machine file may have, so that the command sees one that is too large.
inline constexpr std::size_t text_bytes_most = std::size_t{16} << 20;

enum class output_format : std::uint8_t { for_people, for_programs };

/// The options that say which machine, and how to answer.
struct machine_options {
  std::optional<std::string> profile;
  std::optional<std::string> machine;
  std::optional<std::uint32_t> workers;
  output_format format = output_format::for_people;

  /// Reads the profile, and lets `--machine` and `--workers` have the last word.
  /// Throws `profile_error`, `topology_error`.
  corewise::profile configured() const;
};

/// Reads one of these words as the number of an enumerator.
CLI::Validator one_of(std::vector<std::pair<std::string, int>> choices);

/// The machine of `--machine`, for several profiles. A machine file in a pipe is read once.
class chosen_machine {
 public:
  /// Throws `std::system_error` where a pipe cannot be read.
  explicit chosen_machine(std::string option);
  /// Reads it into a profile's description. Throws `profile_error`, `topology_error`.
  void use(machine_description& into) const;

 private:
  std::string option_;
  std::optional<std::string> piped_; // the text
};

/// Returns whether the file can be read again, unlike standard input and a pipe. Relative paths in it begin at its folder.
bool is_regular(const std::string& file);

void add_format_option(CLI::App& app, output_format& format);
void add_colour_option(CLI::App& app, colour_use& colour);
/// `--profile`, `--machine`, `--workers`, `--format`.
void add_machine_options(CLI::App& app, machine_options& options);

/// Refuses a profile for an engine in this process whose workers, each of which is a thread, would take minutes and
/// gigabytes to begin and to end. Counts them as the engine will: in all groups, with the headroom. Returns whether it did.
/// Throws `topology_error`.
bool refuse_workers(const profile& p);

/// A machine as an engine would divide it.
struct divided_machine {
  /// Has seats for that many more workers, as `worker_options::headroom`. Throws `topology_error`.
  explicit divided_machine(const profile& p, std::optional<std::uint32_t> headroom = 0);

  topology machine;
  locality_groups groups;
  worker_layout workers;
};

} // namespace corewise::command
