#pragma once

#include "queues/class_queue.hpp"
#include "queues/lifo_slot.hpp"

#include <corewise/policies/shared_work.hpp>

#include <algorithm>
#include <utility>

// The order in which a worker asks its sources of tasks, and the state by which the order turns.
//
//     1. latency   the domain's urgent tasks, in at most nine of ten polls while other tasks wait
//     2. shared    once in an interval: a background task of the domain; at the next poll the ring, if forks
//                  wait and it is the ring's turn, else the inbox and the injection queue, the one or the other
//                  first in turn
//     3. slot      the LIFO slot, within its cap (lifo_turns.hpp)
//     4. forks     the newest fork
//     5. ring
//     6. inbox, then injection queue
//
// A task that begins without a poll counts here as well: a coroutine to which another one gives way, a fork
// that runs in place. So the shared sources are asked in time, however tasks begin. A source that joins this
// order changes `worker::poll`, which asks the sources, and this file, and nothing else.

namespace corewise::detail {

/// Decides which source a worker asks next. Call from the seat's thread.
class turn_plan {
 public:
  explicit turn_plan(std::uint32_t interval = 1) noexcept : interval_(interval) {}

  // --- counting what runs

  /// Counts a poll. Returns whether the shared sources come first in it.
  bool count_poll() noexcept {
    if (--until_shared_ != 0) [[likely]]
      return false;
    until_shared_ = interval_;
    return true;
  }
  /// Counts a task that begins without a poll, in place of one in which the shared sources would not have
  /// come first.
  void count_turn() noexcept { --until_shared_; }
  /// Counts a task that begins before the sources that are due. They stay due.
  void count_before_due() noexcept {
    if (until_shared_ > 1) --until_shared_;
  }

  /// Returns whether the next poll would ask another source before the forks and the ring.
  bool others_are_due(const lifo_slot& slot, const class_queue& latency) const noexcept {
    return until_shared_ <= 1 || !slot.empty() || latency.waiting();
  }

  // --- sources that take turns

  /// Returns whether a latency task may come next. If not, another one has its turn, and then the row begins
  /// again.
  bool pick_latency() noexcept {
    if (latency_left_ != 0) return true;
    latency_left_ = latency_row;
    return false;
  }
  /// Counts a latency task.
  void count_latency() noexcept {
    --latency_left_;
    count_before_due();
  }

  /// Call at each poll in which the shared sources come first. Returns whether a background task comes before
  /// them. `started`: the tasks that the worker ever began.
  bool pick_background(std::uint64_t started) noexcept {
    return std::exchange(background_turn_, true) && background_is_due(started - background_at_, interval_);
  }
  /// Counts a background task. The next poll asks the other shared sources.
  void count_background(std::uint64_t started) noexcept {
    background_turn_ = false;
    background_at_ = started;
    until_shared_ = 1;
  }
  /// Returns whether the ring comes before inbox and injection queue. The two sides take turns.
  bool pick_ring() noexcept { return std::exchange(ring_turn_, !ring_turn_); }
  /// Returns whether the injection queue comes before the inbox. The two take turns: a ring that overflows
  /// all the time keeps the injection queue filled for ever.
  bool pick_injection() noexcept { return std::exchange(injection_turn_, !injection_turn_); }

  // --- when the shared sources are due

  /// Notes that a poll has left tasks in the shared sources, and `own` in the slot, the deque and the ring
  /// (ADR 0028).
  void note_backlog(std::uint32_t own) noexcept { until_shared_ = look_at_backlog(until_shared_, own); }
  /// Begins the interval again: the worker has just found nothing in the shared sources, or comes from there.
  void begin_interval() noexcept { until_shared_ = interval_; }
  /// Sets how many polls an interval has. A shorter one holds at once.
  void set_interval(std::uint32_t polls) noexcept {
    interval_ = polls;
    until_shared_ = std::min(until_shared_, interval_);
  }

 private:
  std::uint32_t until_shared_ = 1; // polls up to the one in which the shared sources come first
  std::uint32_t interval_;
  std::uint32_t latency_left_ = latency_row; // latency tasks before another one has its turn
  std::uint64_t background_at_ = 0;          // tasks begun before the last background task
  bool background_turn_ = true;              // not right after a background task
  bool ring_turn_ = true;
  bool injection_turn_ = true;
};

} // namespace corewise::detail
