#pragma once

#include "probe.hpp"
#include "together.hpp"

#include <corewise/topology/groups.hpp>

namespace corewise::command {

/// Measures `transfer.LEVEL`: a cache line goes back and forth between two cores; the figure is half of a
/// round trip. Each turn takes another of the pairs.
class transfer_probe : public probe {
 public:
  transfer_probe(level at, std::vector<cpu_pair> pairs) : at_(at), pairs_(std::move(pairs)) {}

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
