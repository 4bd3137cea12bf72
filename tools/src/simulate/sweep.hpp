#pragma once

#include <corewise/simulator/report.hpp>

#include <functional>
#include <memory>

namespace corewise::command {

/// A profile to simulate runs under, and its machine as the profile divides it.
struct simulated_profile {
  std::string name; ///< unlike all others of a sweep
  profile configuration;
  std::shared_ptr<const simulated_machine> machine;
};

/// Every workload under every profile with every seed. A workload's load is of the first profile's workers, so
/// that all profiles meet the same tasks.
struct sweep {
  std::vector<simulated_profile> profiles;
  std::vector<workload> workloads;
  std::vector<std::uint64_t> seeds;
  std::uint64_t tasks = 0;                                 ///< of each run
  std::uint32_t samples = 0;                               ///< of the load in each run
  std::uint32_t moments = 0;                               ///< of each run that `on_moment` sees
  std::function<void(const live_figures&)> on_moment = {}; ///< called by the runs, on their threads
  bool show_progress = false;                              ///< on standard error
};

/// Runs them all at once, as far as this machine has cores: each run is a task of an engine. Returns the
/// reports of each workload: one for each machine, with the profiles on it. Throws what the first failed run
/// has thrown.
std::vector<simulation_report> run_sweep(const sweep& s);

} // namespace corewise::command
