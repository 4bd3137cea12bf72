#pragma once

#include <cstdint>

namespace corewise {

/// How a worker's load becomes a score, in tasks of the fastest kind. No score always wins (design.md, D3b),
/// so it is a setting.
enum class score_kind : std::uint8_t {
  expected_delay, ///< (load + 1) × 1024 / capacity: when would this task be done?
  drain_time,     ///< load × 1024 / capacity: when would this task begin?
  count,          ///< load
};

/// The cost of sending a task away, by level, in tasks of the fastest kind.
struct spill_costs {
  double same_domain = 2;
  double same_node = 4;
  double same_package = 6;
  double cross_package = 16;
};

struct dispatch_weights {
  score_kind score = score_kind::expected_delay;
  spill_costs spill;
  /// A worker keeps the tasks that it submits while its tasks take less than this. To look at other workers and move a
  /// task to one of them would take longer, and thieves even the loads out. 0 where workers do not steal.
  std::uint64_t keep_below_ns = 1000;
};

} // namespace corewise
