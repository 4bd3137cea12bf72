#pragma once

#include <cstdint>

namespace corewise {

/// The tasks of one worker, in the parts that the systems we learned from count differently.
struct worker_load {
  std::uint32_t queued = 0;  ///< tasks in its ring, its inbox and its deque of forks
  std::uint32_t slot = 0;    ///< 1: its LIFO slot is taken
  std::uint32_t running = 0; ///< 0 or 1

  std::uint32_t total() const noexcept { return queued + slot + running; }
};

} // namespace corewise
