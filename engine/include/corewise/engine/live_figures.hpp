#pragma once

#include <corewise/engine/metrics.hpp>
#include <corewise/topology/node_usage.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace corewise {

/// The figures of an engine, or of a simulated one, that the live map shows at one moment (docs/map.md).
struct live_figures {
  std::chrono::nanoseconds time{0}; ///< since some moment that all figures of the engine share
  metrics_snapshot metrics;
  std::vector<std::string> troubles{}; ///< `health_report::why`
  std::vector<node_usage> memory{};

  /// Returns JSON on one line: waiting times by group, other numbers in a list with a place for each worker.
  /// There are no names and ids of tasks. Cost: about 1.5 us a worker.
  std::string to_json() const;
};

} // namespace corewise
