#include <corewise/simulator/tune.hpp>

#include <map>
#include <mutex>
#include <tuple>

namespace corewise {

namespace {

/// The fields of a profile that `simulated_machine` reads, beside the machine itself.
auto division_of(const profile& p) {
  const grouping_options& groups = p.topology.groups;
  return std::tuple(groups.group_by, groups.group_max, p.topology.smt, p.workers.per_group, p.workers.total);
}

/// One machine, divided and given workers as each profile asks.
class divided_machines {
 public:
  explicit divided_machines(const profile& p) { machines_.try_emplace(division_of(p), p); }

  const simulated_machine& as_in(const profile& p) {
    const std::lock_guard lock(mutex_);
    return machines_.try_emplace(division_of(p), p, machines_.begin()->second.machine).first->second;
  }

 private:
  std::mutex mutex_;
  std::map<decltype(division_of(profile())), simulated_machine> machines_;
};

/// The share of all workers' time in which they are awake without a task.
double awake_share_of(const simulation_result& r) {
  double workers = 0, awake = 0;
  for (const auto& kind : r.kinds) {
    workers += kind.workers;
    awake += kind.workers * (1 - kind.busy - kind.idle);
  }
  return workers > 0 ? awake / workers : 0;
}

tuning_figures figures_of(const simulation_result& r) {
  const auto tasks = static_cast<double>(r.tasks);
  return {.p99_ns = r.response.quantile(0.99),
          .ns_per_task = static_cast<double>(r.measured_ns) / tasks,
          .joules_per_task = r.joules() / tasks,
          .awake_share = awake_share_of(r),
          .wake_ups_per_task = static_cast<double>(r.wake_ups) / tasks};
}

} // namespace

tuning_objective simulated_objective(const profile& p, std::vector<workload> workloads, std::uint64_t tasks) {
  const auto machines = std::make_shared<divided_machines>(p);
  const double capacity = machines->as_in(p).capacity();
  for (workload& w : workloads) w = with_rate(std::move(w), capacity); // also for profiles with more workers
  return [machines, workloads = std::move(workloads), tasks](const profile& tried, std::size_t which,
                                                             std::uint64_t seed) {
    simulation_options options;
    options.seed = seed;
    options.tasks = tasks;
    return figures_of(simulate(tried, machines->as_in(tried), workloads.at(which), options));
  };
}

} // namespace corewise
