#pragma once

#include <cstdint>

// When a worker's LIFO slot takes a task, and when that task runs: the engine's workers and those of the simulator go by
// this. `left` is how many tasks may still run from the slot, as `lifo_counts` counts them.

namespace corewise {

/// Which tasks that run from the LIFO slot `lifo_cap` counts.
enum class lifo_count : std::uint8_t {
  overtaking, ///< since the last one that came from elsewhere, while others wait in the ring
  all,        ///< in a tick, whoever waits
  in_a_row,   ///< since the last one that came from elsewhere
};

/// Whether a task that is to run next goes into the slot; else behind the ring.
constexpr bool slot_takes(std::uint32_t cap, lifo_count counts, std::uint32_t left) noexcept {
  return cap != 0 && (left != 0 || counts == lifo_count::overtaking);
}

/// Whether one from the slot counts. `others_wait()`: whether it overtakes somebody.
template <class F> constexpr bool counts_in_slot(lifo_count counts, const F& others_wait) noexcept {
  return counts != lifo_count::overtaking || others_wait();
}

/// Where none may run from it any more: whether the task waits there for its next turn; else it goes behind the ring.
constexpr bool waits_in_slot(lifo_count counts) noexcept { return counts == lifo_count::overtaking; }

/// So many may run from it after a task from elsewhere, at least.
constexpr std::uint32_t slot_row(std::uint32_t cap, lifo_count counts) noexcept {
  return counts == lifo_count::all ? 0 : cap;
}

/// Whether a tick begins with as many as the cap again.
constexpr bool slot_counts_ticks(lifo_count counts) noexcept { return counts == lifo_count::all; }

} // namespace corewise
