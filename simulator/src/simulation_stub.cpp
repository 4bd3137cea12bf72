// Stands in for simulation.cpp until that is there: plausible results that nobody has simulated.

#include <corewise/simulator/simulation.hpp>

#include <cmath>

namespace corewise {

namespace {
worker_options workers_of(const profile& p) {
  return {p.topology.smt, p.workers.per_group, p.workers.total, std::nullopt};
}
} // namespace

simulated_machine::simulated_machine(const profile& p)
    : simulated_machine(p, std::make_shared<const topology>(discover(p.topology.machine))) {}

simulated_machine::simulated_machine(const profile& p, std::shared_ptr<const topology> discovered)
    : machine(std::move(discovered)),
      groups(*machine, p.topology.groups),
      workers(*machine, groups, workers_of(p)),
      costs(p.topology.machine.costs) {}

double simulated_machine::capacity() const noexcept {
  double sum = 0;
  for (const worker_place& w : workers.workers()) sum += groups[w.group].capacity / 1024.0;
  return sum;
}

double simulation_result::joules() const noexcept {
  double sum = 0;
  for (const kind_result& k : kinds) sum += k.joules;
  return sum;
}

double simulation_result::crossed() const noexcept {
  return tasks == 0 ? 0 : static_cast<double>(ran_at[4]) / static_cast<double>(tasks);
}

bool simulation_result::steady() const noexcept {
  const double a = first_half.quantile(0.99), b = second_half.quantile(0.99);
  return std::abs(a - b) <= 0.05 * a;
}

simulation_result simulate(const profile&, const simulated_machine& machine, const workload& w,
                           const simulation_options& options) {
  simulation_result r;
  arrival_stream arrivals(w, machine.capacity(), options.seed);
  for (std::uint64_t i = 0; i < options.tasks; ++i) {
    const auto a = arrivals.next();
    if (!a) break;
    if (options.stop != nullptr && options.stop->load()) throw simulation_stopped();
    if (options.progress != nullptr) options.progress->fetch_add(1, std::memory_order_relaxed);
    (i < options.tasks / 2 ? r.first_half : r.second_half).add(a->service_ns);
    r.response.add(a->service_ns);
    r.slowdown.add(1500);
    ++r.ran_at[i % 16 < level_count ? i % 16 : 0];
    if (i % 10 == 0) ++r.stolen_at[i % level_count];
    r.ended_ns = r.measured_ns = a->time_ns;
    ++r.tasks;
    if (options.samples != 0 && i % (options.tasks / options.samples + 1) == 0)
      r.samples.push_back({a->time_ns, std::vector<float>(machine.groups.size(), static_cast<float>(i % 7))});
  }
  for (const core_kind& k : machine.machine->kinds())
    r.kinds.push_back({k.name, 1, 0.5, 0.25, r.tasks, 0.125});
  return r;
}

} // namespace corewise
