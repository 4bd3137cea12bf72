#pragma once

#include "probe.hpp"
#include "together.hpp"

namespace corewise::command {

/// Measures `wake_up` and `waking`: a thread sleeps on a futex for 1 ms, another wakes it. The figures are
/// the time from the call until the sleeper runs, and the time of the call.
class wake_up_probe : public probe {
 public:
  explicit wake_up_probe(std::vector<cpu_pair> pairs) : pairs_(std::move(pairs)) {}

  std::string name() const override { return "wake_up"; }
  void measure(steady_time until) override;
  void report(calibration& into) const override;

 private:
  std::vector<cpu_pair> pairs_;
  std::size_t turn_ = 0;
  sample_list latency_;
  sample_list call_;
};

} // namespace corewise::command
