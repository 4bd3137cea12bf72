#pragma once

#include "simulated_state.hpp"

namespace corewise::detail {

/// The reports of a run while it goes on: samples of the loads, and moments for a live map.
class run_reports {
 public:
  explicit run_reports(simulated_state& state);

  /// Tells what is due after so many tasks have ended.
  void tell(std::uint64_t ended_tasks) {
    if (ended_tasks >= next_) tell_due(ended_tasks);
  }

 private:
  void tell_due(std::uint64_t ended_tasks);
  void sample_loads();
  void tell_moment() const;

  simulated_state& state_;
  std::uint64_t next_sample_;
  std::uint64_t next_moment_;
  std::uint64_t next_; // the earlier one
};

} // namespace corewise::detail
