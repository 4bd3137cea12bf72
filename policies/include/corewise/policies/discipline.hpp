#pragma once

#include <cstdint>

namespace corewise {

/// The order in which a worker takes its own tasks and shared ones: corewise's, or that of a system from
/// which it learned (docs/systems.md). The engine's workers and the simulator's follow it.
enum class discipline : std::uint8_t { standard, volt, tokio };

/// Which tasks that run from a worker's LIFO slot count against `queues.lifo_cap`.
enum class lifo_count : std::uint8_t {
  overtaking, ///< since the last one that came from elsewhere, while others wait in the ring
  in_a_tick,  ///< whether others wait or not
  in_a_row,   ///< since the last one that came from elsewhere
};

/// The rules of a discipline, in each point in which disciplines differ.
struct discipline_rules {
  /// Where only tasks that overtake count, a task for which the cap leaves no run waits in the slot for its
  /// next turn. Else it goes behind the ring.
  lifo_count lifo_counts = lifo_count::overtaking;
  /// So many tasks of a batch from the injection queue run before the LIFO slot and the ring.
  std::uint32_t batch_in_front = 0;
  /// A worker that leaves tasks in the shared queues looks there again after one turn of its ring. Else it
  /// does so after the interval, as if nothing were left.
  bool polls_backlog = true;
};

constexpr discipline_rules rules_of(discipline d) noexcept {
  switch (d) {
  case discipline::volt:
    return {.lifo_counts = lifo_count::in_a_tick, .batch_in_front = 32, .polls_backlog = false};
  case discipline::tokio: return {.lifo_counts = lifo_count::in_a_row, .polls_backlog = false};
  case discipline::standard: break;
  }
  return {};
}

} // namespace corewise
