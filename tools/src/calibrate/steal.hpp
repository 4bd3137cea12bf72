#pragma once

#include "probe.hpp"
#include "together.hpp"

#include <corewise/topology/groups.hpp>

namespace corewise::command {

/// Measures `steal.LEVEL` with an engine of two workers. One fills its queue and waits in its task. The other
/// waited in a task, too; it ends that task, finds the queue, takes half of it and runs the first task. The
/// figure is the time from the end of the one task to the beginning of the other.
class steal_probe : public probe {
 public:
  steal_probe(level at, std::vector<cpu_pair> pairs) : at_(at), pairs_(std::move(pairs)) {}

  std::string name() const override;
  void measure(steady_time until) override;
  void report(calibration& into) const override;

 private:
  level at_;
  std::vector<cpu_pair> pairs_;
  std::size_t turn_ = 0;
  sample_list samples_;
};

} // namespace corewise::command
