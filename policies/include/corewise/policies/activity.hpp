#pragma once

#include <corewise/policies/load_board.hpp>

// The activity order without a lock: a worker's activity is `touches - cooled`, and each of the two words has
// writers that never wait.
//
// A touch adds one. Cooling halves the difference, so that a worker that was just robbed moves away from the
// hot end and the next thief tries another (least frequently used). Of equally active workers the one that
// was touched longer ago comes first (least recently used). Source: the retrospective on bringing Nio to ZIO,
// which kept workers in a list and paid for a lock on each touch.

namespace corewise {

/// Notes that the worker took work. `stamp` grows with time: a clock, or a count. Only the board entry's
/// owner.
inline void touch(board_entry& entry, std::uint64_t stamp) noexcept {
  detail::add_own(entry.owner.touches, 1);
  entry.owner.touched_at.store(stamp, std::memory_order_relaxed);
}

/// Halves the activity of a robbed worker, rounded down. Any thread. Of two calls at once one may be lost,
/// which leaves the worker warmer than it should be and does no other harm.
inline void cool(board_entry& entry) noexcept {
  const std::uint64_t cooled = entry.shared.cooled.load(std::memory_order_relaxed);
  const std::uint64_t touches = entry.owner.touches.load(std::memory_order_relaxed);
  if (touches > cooled)
    entry.shared.cooled.store(cooled + (touches - cooled + 1) / 2, std::memory_order_release); // pairs: board
}

} // namespace corewise
