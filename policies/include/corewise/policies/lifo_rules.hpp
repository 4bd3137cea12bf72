#pragma once

#include <cstdint>

// The rules by which a worker's LIFO slot takes a task, and by which that task runs. The engine's workers and
// the simulator's follow them. `left` is how many tasks may still run from the slot, as `lifo_counts` counts
// them.

namespace corewise {

/// Which tasks that run from the LIFO slot `lifo_cap` counts.
enum class lifo_count : std::uint8_t {
  overtaking, ///< since the last one that came from elsewhere, while others wait in the ring
  all,        ///< in a tick, whether others wait or not
  in_a_row,   ///< since the last one that came from elsewhere
};

/// Returns whether a task that is to run next goes into the slot; else it goes behind the ring.
constexpr bool slot_takes(std::uint32_t cap, lifo_count counts, std::uint32_t left) noexcept {
  return cap != 0 && (left != 0 || counts == lifo_count::overtaking);
}

/// Returns whether a task from the slot counts. `others_wait()` returns whether it overtakes another task.
template <class F> constexpr bool counts_in_slot(lifo_count counts, const F& others_wait) noexcept {
  return counts != lifo_count::overtaking || others_wait();
}

/// Returns whether a task stays in the slot for its next turn when no more may run from the slot; else it
/// goes behind the ring.
constexpr bool waits_in_slot(lifo_count counts) noexcept { return counts == lifo_count::overtaking; }

/// How many tasks may run from the slot after a task from elsewhere, at least.
constexpr std::uint32_t slot_row(std::uint32_t cap, lifo_count counts) noexcept {
  return counts == lifo_count::all ? 0 : cap;
}

/// Returns whether a tick begins with the whole cap again.
constexpr bool slot_counts_ticks(lifo_count counts) noexcept { return counts == lifo_count::all; }

} // namespace corewise
