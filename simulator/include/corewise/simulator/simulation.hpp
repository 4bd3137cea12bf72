#pragma once

#include <corewise/engine/profile.hpp>
#include <corewise/simulator/histogram.hpp>
#include <corewise/simulator/workload.hpp>
#include <corewise/topology/costs.hpp>

#include <array>
#include <atomic>
#include <functional>
#include <memory>

namespace corewise {

/// A machine as an engine under that profile would divide it, with what things cost there.
struct simulated_machine {
  /// Discovers the profile's machine. `costs` are those of its machine file. Throws `topology_error`, `profile_error`.
  explicit simulated_machine(const profile& p);
  /// The same, of a machine that was discovered before.
  simulated_machine(const profile& p, std::shared_ptr<const topology> machine);

  std::shared_ptr<const topology> machine;
  locality_groups groups;
  worker_layout workers;
  machine_costs costs;

  /// Of all workers together, in workers of the fastest kind.
  double capacity() const noexcept;
};

struct simulation_options {
  std::uint64_t seed = 1;
  std::uint64_t tasks =
      1'000'000; ///< so many end before the run does (fork_join: leaves and parents alike); of a trace at most
  double warm_up = 0.1;      ///< so large a share of them comes before anything is measured
  std::uint32_t samples = 0; ///< of the load of each group over time; 0: none
  /// Tasks that have ended so far, for a progress line; may be null.
  std::atomic<std::uint64_t>* progress = nullptr;
  /// Called at each decision of the policy, with what it was shown and what it answered; may be empty.
  std::function<void(const load_view&, const task_origin&, const placement_hint&, const placement&)>
      on_placing = {};
  /// Set from elsewhere: the run ends at once with `simulation_stopped`; may be null.
  const std::atomic<bool>* stop = nullptr;
};

/// What a run found. Times in ns of the simulated machine; everything but `tasks` and `ended_ns` without the warm-up.
struct simulation_result {
  std::uint64_t tasks = 0;      ///< measured ones that ended
  std::int64_t measured_ns = 0; ///< how long was measured
  std::int64_t ended_ns = 0;    ///< when the run ended
  histogram
      response; ///< from submission to the end (fork_join: of whole trees; yield_ring: between two turns)
  histogram first_half; ///< of `response`, the first half of the tasks that ended
  histogram second_half;
  histogram slowdown; ///< response / service on the fastest kind near the data, times 1000
  std::array<std::uint64_t, level_count>
      ran_at{}; ///< by the level between a task's data (or submitter) and its worker
  std::array<std::uint64_t, level_count> stolen_at{}; ///< tasks moved by thieves, by level
  std::uint64_t placed = 0;
  std::uint64_t wake_ups = 0;
  std::uint64_t parks = 0;
  std::uint64_t events = 0;
  double mean_in_system = 0; ///< tasks that were submitted and had not ended, on average over time
  double busy = 0;           ///< of the workers' time, 0..1
  struct kind_result {
    std::string name;
    std::uint32_t workers = 0;
    double busy = 0; ///< share of the time in tasks
    double idle = 0; ///< share of the time asleep
    std::uint64_t tasks = 0;
    double joules = 0;
  };
  std::vector<kind_result> kinds; ///< by `topology::kinds()`
  struct load_sample {
    std::int64_t time_ns;
    std::vector<float> load; ///< tasks per worker, by group
  };
  std::vector<load_sample> samples;

  double throughput() const noexcept { ///< tasks a second
    return measured_ns == 0 ? 0 : static_cast<double>(tasks) * 1e9 / static_cast<double>(measured_ns);
  }
  double joules() const noexcept;
  /// The share of tasks that ran in another package than their data (or submitter).
  double crossed() const noexcept;
};

/// The run was told to stop.
struct simulation_stopped : std::exception {
  const char* what() const noexcept override { return "the simulation was stopped"; }
};

/// Runs a workload on a machine under a profile. Deterministic: the same arguments give the same result. Memory does not
/// grow with the number of tasks, but with those in the system at once. Any thread. Cost: about 1 us a task. Throws
/// `workload_error`, `simulation_stopped`.
simulation_result simulate(const profile& p, const simulated_machine& machine, const workload& w,
                           const simulation_options& options);

} // namespace corewise
