#pragma once

#include <corewise/policies/lifo_rules.hpp>

#include <cstdint>
#include <utility>

namespace corewise::detail {

/// Counts how often the LIFO slot of a worker may still come before the ring (ADR 0007). Call from the seat's
/// thread.
class lifo_turns {
 public:
  /// Follows these settings from here on, and begins to count again.
  void follow(std::uint32_t cap, lifo_count counts) noexcept {
    cap_ = left_ = cap;
    row_ = slot_row(cap, counts);
    counts_ = counts;
  }
  /// Begins to count again. `watched`: other threads need not be told of a task in the slot.
  void begin_work(bool watched) noexcept {
    left_ = cap_;
    watched_ = watched;
  }
  void begin_tick() noexcept {
    if (slot_counts_ticks(counts_)) left_ = cap_;
  }

  /// Returns whether the profile has a slot.
  bool has_slot() const noexcept { return cap_ != 0; }
  /// Returns whether a task that is to run next goes into the slot.
  bool accepts() const noexcept { return slot_takes(cap_, counts_, left_); }

  /// Returns whether a task that runs from the slot now counts. `others_wait()` returns whether it overtakes
  /// another task.
  template <class F> bool counts_now(const F& others_wait) const noexcept {
    return counts_in_slot(counts_, others_wait);
  }
  /// Returns whether no more tasks that count may run from the slot.
  bool used_up() const noexcept { return left_ == 0; }
  /// Returns whether a task for which no run is left waits in the slot; else it goes behind the ring.
  bool waits() const noexcept { return waits_in_slot(counts_); }
  /// Counts a task that ran from the slot.
  void count_run() noexcept { --left_; }
  /// Counts a task that came from elsewhere.
  void count_other() noexcept {
    if (left_ < row_) left_ = row_;
  }

  /// Returns whether the sentinel must be asked to watch the slot: once between two sleeps.
  bool begin_watch() noexcept { return !std::exchange(watched_, true); }

 private:
  std::uint32_t cap_ = 0;
  std::uint32_t left_ = 0; // tasks that may still run from the slot
  std::uint32_t row_ = 0;  // so many again after a task from elsewhere
  lifo_count counts_{};    // which of them count
  bool watched_ =
      false; // the sentinel, or this worker alone, looks after the slot while the worker is at work
};

} // namespace corewise::detail
