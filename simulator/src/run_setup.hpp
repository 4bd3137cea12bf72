#pragma once

#include <corewise/engine/profile.hpp>
#include <corewise/policies/shared_work.hpp>
#include <corewise/simulator/simulation.hpp>

#include <vector>

namespace corewise::detail {

/// The facts that hold for a whole run: its arguments, and the rules that follow from them.
struct run_setup {
  /// All arguments must outlive the run.
  run_setup(const corewise::profile& p, const simulated_machine& m, const corewise::workload& w,
            const simulation_options& o);

  group_id group_of(worker_id w) const noexcept { return layout[w].group; }
  std::uint32_t domain_of(worker_id w) const noexcept { return groups[layout[w].group].domain; }

  const corewise::profile& profile;
  const simulated_machine& machine;
  const corewise::workload& workload;
  const simulation_options& options;
  const locality_groups& groups;
  const worker_layout& layout;
  const machine_costs& costs;
  discipline_rules rules;
  bool stealing; ///< workers take from each other
  bool injects;  ///< there are injection queues
  std::uint32_t ring_capacity;
  std::uint32_t inbox_capacity;
  std::vector<group_id> injection_of; ///< by group: the group whose injection queue it uses
};

} // namespace corewise::detail
