#pragma once

#include "../machine_options.hpp"
#include "../output_file.hpp"

#include <corewise/simulator/tune.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace corewise::command {

struct tune_options {
  std::optional<std::string> machine;
  std::optional<std::string> from;
  std::vector<std::string> workloads;
  tuning_goal goal = tuning_goal::p99;
  std::string output = "-";
  bool force = false;
  std::optional<double> budget_seconds; ///< nothing: 60, or none where `evaluations` is given
  std::optional<std::uint32_t> evaluations;
  std::uint64_t tasks = 100'000;
  std::uint32_t seeds = 8;
  std::uint32_t held_out = 20;
  std::uint64_t seed = 1;
  std::optional<std::uint32_t> jobs;
  output_format format = output_format::for_people;

  bool to_standard_output() const { return is_standard_output(output); }
};

/// The command line that tries so many profiles again, whatever the time that takes; as a shell reads it.
std::string command_again(const tune_options& options, std::uint32_t evaluations);

} // namespace corewise::command
