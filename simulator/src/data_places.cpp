#include "data_places.hpp"

#include <string>

namespace corewise::detail {

data_places::data_places(const run_setup& setup) : setup_(setup) {
  find_cpus();
  check(setup.workload);
}

void data_places::find_cpus() {
  const topology& machine = *setup_.machine.machine;
  cpus_of_node_.resize(machine.nodes().size());
  package_of_node_.resize(cpus_of_node_.size());
  for (const std::uint32_t cpu : machine.cpus().to_vector()) {
    const auto g = setup_.groups.group_of_cpu(cpu);
    if (!g) continue;
    cpus_.push_back(cpu);
    if (const auto node = setup_.groups[*g].node) {
      cpus_of_node_[*node].push_back(cpu);
      package_of_node_[*node] = setup_.groups[*g].package;
    }
  }
  for (std::uint32_t n = 0; n < cpus_of_node_.size(); ++n)
    if (!cpus_of_node_[n].empty()) homes_.push_back(n);
}

void data_places::check(const workload& w) {
  if (w.homes == workload::data::random && homes_.empty())
    throw workload_error("data=random: the machine has no memory nodes with CPUs");
  if (w.homes == workload::data::node && w.data_node >= nodes())
    throw workload_error("data=node:" + std::to_string(w.data_node) + ": the machine has " +
                         std::to_string(nodes()) + " memory nodes, numbered from 0");
  if (w.submitted == workload::from::cpu && !setup_.groups.group_of_cpu(w.from_cpu))
    throw workload_error("from=cpu:" + std::to_string(w.from_cpu) + ": the machine does not use that CPU");
}

double data_places::run_time_ns(const simulated_task& t, group_id ran_in) const noexcept {
  const locality_group& g = setup_.groups[ran_in];
  double time = t.service_ns * full_capacity / setup_.machine.real_capacity(g.id);
  if (t.node != nowhere && g.node && *g.node != t.node) {
    const auto& slowdown = setup_.costs.slowdown;
    time *= package_of_node_[t.node] == g.package ? slowdown.same_package : slowdown.cross_package;
  }
  return time;
}

level data_places::level_of(const simulated_task& t, group_id ran_in) const noexcept {
  if (t.node == nowhere) return setup_.groups.level_between(t.from, ran_in);
  const locality_group& g = setup_.groups[ran_in];
  if (!g.node || *g.node == t.node) return level::same_node;
  return package_of_node_[t.node] == g.package ? level::same_package : level::cross_package;
}

} // namespace corewise::detail
