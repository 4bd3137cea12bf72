#pragma once

#include "kernels.hpp"
#include "probe.hpp"

#include <corewise/topology/binding.hpp>
#include <corewise/topology/topology.hpp>

namespace corewise::command {

/// How fast the cores of each kind are: the three kernels on one core of each, one kind after the other, each
/// turn on another core.
class kind_speed_probe : public probe {
 public:
  explicit kind_speed_probe(const topology& machine);

  std::string name() const override { return "speed"; }
  void measure(steady_time until) override;
  void report(calibration& into) const override;

 private:
  struct kind {
    std::string name;
    cpu_set cpus;
    std::vector<std::uint32_t> cores; ///< a CPU of each
    std::array<std::vector<double>, kernel_names.size()> times;
    refusal why_not;
  };

  void measure_round(kind& k, std::uint32_t cpu);

  std::vector<kind> kinds_;
  kernels kernels_;
  std::size_t turn_ = 0;
};

/// Computes capacities from rounds: `times[kind][kernel][round]` in ns a step; the same round of all kinds
/// belongs together. For each kind the result is 1024 times its speed relative to the kind that is fastest
/// all in all: the geometric mean of the kernels. Returns nothing for a kind with too few rounds.
std::vector<std::optional<spread>>
capacities_of(const std::vector<std::array<std::vector<double>, kernel_names.size()>>& times);

} // namespace corewise::command
