#include "simulated_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace corewise {

simulated_machine::simulated_machine(const profile& p)
    : simulated_machine(p, std::make_shared<const topology>(discover(p.topology.machine))) {}

simulated_machine::simulated_machine(const profile& p, std::shared_ptr<const topology> m)
    : machine(std::move(m)),
      groups(*machine, p.topology.groups),
      workers(*machine, groups, worker_options_of(p)),
      costs(p.topology.machine.costs) {}

double simulated_machine::capacity() const noexcept {
  double sum = 0;
  for (const worker_place& w : workers.workers())
    sum += static_cast<double>(real_capacity(w.group)) / full_capacity;
  return sum;
}

void simulated_machine::really_have(const std::string& kind, std::uint32_t capacity) {
  if (capacity < 1 || capacity > full_capacity)
    throw std::invalid_argument(fmt::format("cores have a capacity of 1 to {}", full_capacity));
  const auto& kinds = machine->kinds();
  const auto at = std::ranges::find(kinds, kind, &core_kind::name);
  if (at == kinds.end())
    throw std::invalid_argument(fmt::format("the machine has no kind of core \"{}\"", kind));
  if (real_.empty())
    for (const locality_group& g : groups.groups()) real_.push_back(g.capacity);
  for (const locality_group& g : groups.groups())
    if (g.kind == at->rank) real_[g.id.value] = capacity;
}

simulation_result simulate(const profile& p, const simulated_machine& machine, const workload& w,
                           const simulation_options& options) {
  simulation_options until_they_end = options;
  until_they_end.tasks = tasks_that_come(w, options.tasks);
  return detail::simulated_run(p, machine, w, until_they_end).run();
}

} // namespace corewise
