#pragma once

#include <corewise/engine/live_figures.hpp>
#include <corewise/engine/profile.hpp>
#include <corewise/policies/policy.hpp>
#include <corewise/simulator/histogram.hpp>
#include <corewise/simulator/workload.hpp>
#include <corewise/topology/costs.hpp>

#include <array>
#include <atomic>
#include <functional>
#include <memory>

namespace corewise {

/// A machine as an engine under that profile would divide it, with the costs of things there.
struct simulated_machine {
  /// Discovers the profile's machine. `costs` are those of its machine file. Throws `topology_error`,
  /// `profile_error`.
  explicit simulated_machine(const profile& p);
  /// Divides a machine that was discovered before. Else as above.
  simulated_machine(const profile& p, std::shared_ptr<const topology> machine);

  std::shared_ptr<const topology> machine;
  locality_groups groups;
  worker_layout workers;
  machine_costs costs;

  /// Gives the cores of a kind another capacity than the machine, and so the engine, says. Throws
  /// `std::invalid_argument` if there is no such kind.
  void really_have(const std::string& kind, std::uint32_t capacity);
  std::uint32_t real_capacity(group_id g) const noexcept {
    return real_.empty() ? groups[g].capacity : real_[g.value];
  }
  /// The real capacity of all workers together, in workers of the fastest kind.
  double capacity() const noexcept;

 private:
  std::vector<std::uint32_t> real_; // by group; empty: as the machine says
};

/// A decision where a task goes, as `simulate` reports it.
struct placing_decision {
  /// The maker of the decision: a policy's answer may hold for several tasks.
  enum class maker : std::uint8_t {
    place,                 ///< `policy::place`
    max_load_kept_unasked, ///< the submitting worker kept it, as `policy::max_load_kept_unasked` allows
    repeat,                ///< it followed the last task of the same thread, as `placement::repeat` allows
  };

  const load_view& loads; ///< the loads that the policy was shown, or would have been
  const task_origin& origin;
  const placement_hint& hint;
  placement_rng rng; ///< the random state before the decision
  placement_cursor cursor;
  std::uint32_t cpu = 0; ///< of the thread outside
  const placement& to;   ///< of `max_load_kept_unasked` only the worker and its group
  maker by = maker::place;
};

struct simulation_options {
  std::uint64_t seed = 1;
  std::uint64_t tasks =
      1'000'000; ///< so many end before the run does (fork_join: leaves and parents alike); of a trace at most
  double warm_up = 0.1;      ///< the share of them that comes before anything is measured
  std::uint32_t samples = 0; ///< of the load of each group over time; 0: none
  /// How often `on_moment` is called, after equal numbers of tasks.
  std::uint32_t moments = 0;
  /// Called with what the live map of an engine would show; may be empty. Of `metrics`: tasks, queues, health,
  /// and of the workers what the map shows.
  std::function<void(const live_figures&)> on_moment = {};
  /// The number of tasks that have ended so far, for a progress line; may be null.
  std::atomic<std::uint64_t>* progress = nullptr;
  /// Called at each decision, before the task is put anywhere; may be empty.
  std::function<void(const placing_decision&)> on_placing = {};
  /// Decides in the place of the profile's policy; may be null. Must outlive the run.
  const policy* rule = nullptr;
  /// How many events lie between two checks that boards and counters show what the queues hold; else the run
  /// throws std::logic_error. 0: no checks. Each check takes as long as hundreds of events.
  std::uint32_t look_through = 0;
  /// How many tasks may be in the system at once: so many take more than a GB. A workload that brings more is
  /// refused.
  std::uint64_t most_in_system = std::uint64_t{1} << 24;
  /// Another thread sets it to end the run at once with `simulation_stopped`; may be null.
  const std::atomic<bool>* stop = nullptr;
};

/// The findings of a run. Times in ns of the simulated machine. Everything but `tasks` and `ended_ns` leaves
/// the warm-up out.
struct simulation_result {
  std::uint64_t tasks = 0;      ///< measured tasks that ended
  std::int64_t measured_ns = 0; ///< how long was measured
  std::int64_t ended_ns = 0;    ///< when the run ended
  histogram
      response; ///< from submission to the end (fork_join: of whole trees; yield_ring: between two turns)
  histogram first_half; ///< of `response`, the first half of the measured tasks
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
  /// How long a worker had no task while one waited elsewhere than in a LIFO slot.
  std::int64_t idle_beside_work_ns = 0;
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

/// Thrown by a run that was told to stop.
struct simulation_stopped : std::exception {
  const char* what() const noexcept override { return "the simulation was stopped"; }
};

/// Runs a workload on a machine under a profile. Deterministic: the same arguments give the same result.
/// Memory does not grow with the number of tasks, but with those in the system at once. Any thread. Cost:
/// about 1 us a task. Throws `workload_error`, also if the run passes 146 years of simulated time or
/// `most_in_system`; `simulation_stopped`.
simulation_result simulate(const profile& p, const simulated_machine& machine, const workload& w,
                           const simulation_options& options);

} // namespace corewise
