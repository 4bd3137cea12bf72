#pragma once

#include "run_setup.hpp"
#include "tasks.hpp"

#include <optional>
#include <vector>

namespace corewise::detail {

/// The CPUs and memory nodes that tasks come from, and how far from its data a task runs.
class data_places {
 public:
  /// Throws `workload_error` if the workload names a place that the machine does not have.
  explicit data_places(const run_setup& setup);

  const std::vector<std::uint32_t>& cpus() const noexcept { return cpus_; }
  std::size_t nodes() const noexcept { return cpus_of_node_.size(); }
  const std::vector<std::uint32_t>& cpus_of_node(std::uint32_t node) const noexcept {
    return cpus_of_node_[node];
  }
  /// The nodes where `data=random` may be: those that have CPUs.
  const std::vector<std::uint32_t>& homes() const noexcept { return homes_; }

  /// Returns how long a task takes on a worker of the group that has its core for itself.
  double run_time_ns(const simulated_task& t, group_id ran_in) const noexcept;
  /// Returns the level between a group and the task's data, or its submitter.
  level level_of(const simulated_task& t, group_id ran_in) const noexcept;

 private:
  void find_cpus();
  void check(const workload& w);

  const run_setup& setup_;
  std::vector<std::uint32_t> cpus_;
  std::vector<std::vector<std::uint32_t>> cpus_of_node_;
  std::vector<std::optional<std::uint32_t>> package_of_node_;
  std::vector<std::uint32_t> homes_;
};

} // namespace corewise::detail
