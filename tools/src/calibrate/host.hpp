#pragma once

#include "calibration.hpp"
#include "stopwatch.hpp"

#include <corewise/topology/topology.hpp>

namespace corewise::command {

/// The host's spent CPU time, in ticks.
struct spent_time {
  double busy = 0;   ///< by all programs
  double stolen = 0; ///< by the hypervisor, for other machines
  double own = 0;    ///< by this process
};

/// Watches the host from its beginning on.
class host_watch {
 public:
  host_watch();

  /// The facts about the host, and what may have disturbed the measuring so far.
  host_facts facts(const topology& machine) const;

 private:
  steady_time begin_ = now();
  std::optional<spent_time> before_; ///< nothing: the host does not tell
};

/// The "model name" of /proc/cpuinfo; empty where it has none. Characters beyond ASCII become `?`.
std::string cpu_model_in(const std::string& cpuinfo);

} // namespace corewise::command
