#pragma once

#include <cstdint>

namespace corewise::detail {

/// Counts how often the LIFO slot of a worker may still come before the ring: only tasks that overtake others
/// count (ADR 0007). Call from the seat's thread.
class lifo_turns {
 public:
  /// Follows this cap from here on, and begins to count again.
  void follow(std::uint32_t cap) noexcept { cap_ = left_ = cap; }
  /// Begins to count again.
  void begin_work() noexcept { left_ = cap_; }

  /// Returns whether the profile has a slot.
  bool has_slot() const noexcept { return cap_ != 0; }
  std::uint32_t cap() const noexcept { return cap_; }
  /// Returns whether no more tasks may overtake others from the slot.
  bool used_up() const noexcept { return left_ == 0; }
  /// Counts a task that overtook others from the slot.
  void count_run() noexcept { --left_; }
  /// Counts a task that came from elsewhere.
  void count_other() noexcept { left_ = cap_; }

 private:
  std::uint32_t cap_ = 0;
  std::uint32_t left_ = 0; // tasks that may still run from the slot
};

} // namespace corewise::detail
