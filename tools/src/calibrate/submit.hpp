#pragma once

#include "probe.hpp"

#include <cstdint>

namespace corewise::command {

/// Measures `submit` and `run` with an engine of one worker, where a task submits many empty ones, which then
/// run one after another. The figures are the times for each task.
class submit_probe : public probe {
 public:
  explicit submit_probe(std::uint32_t cpu) : cpu_(cpu) {}

  std::string name() const override { return "submit"; }
  void measure(steady_time until) override;
  void report(calibration& into) const override;

 private:
  std::uint32_t cpu_;
  sample_list submit_;
  sample_list run_;
};

} // namespace corewise::command
