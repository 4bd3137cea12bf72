#pragma once

#include "queues/worker_queues.hpp"
#include "worker/lifo_turns.hpp"
#include "worker/worker_counters.hpp"

#include <corewise/policies/discipline.hpp>

#include <algorithm>
#include <cstdint>

// The changes that disciplines (discipline.hpp) make to a worker's loop. The loop is compiled twice: for the standard
// discipline, which has neither state nor branches here, and for all others. An object of these classes lives
// as long as a thread runs the loop on a seat.

namespace corewise::detail {

struct standard_discipline {
  static constexpr bool batch_is_in_front() noexcept { return false; }
  static constexpr std::uint32_t most_in_front() noexcept { return 0; }
  static constexpr bool polls_backlog() noexcept { return true; }
  static constexpr void begin_take() noexcept {}
  static constexpr void end_take() noexcept {}
};

/// Reads the seat's queues and counters, and changes nothing there. Call from the seat's thread.
class general_discipline {
 public:
  general_discipline(discipline d, const worker_queues& own, const worker_counters& counts) noexcept
      : rules_(rules_of(d)),
        own_(own),
        counts_(counts) {}

  // --- a batch from the injection queue, of which a part comes before the slot and the forks

  /// Returns whether the ring's oldest task belongs to that part.
  bool batch_is_in_front() const noexcept { return is_before(front_ends_); }
  /// Returns how many tasks of a batch that part has at most.
  std::uint32_t most_in_front() const noexcept { return rules_.batch_in_front; }
  bool polls_backlog() const noexcept { return rules_.polls_backlog; }

  /// Call before the worker takes from shared sources, and after it.
  void begin_take() noexcept {
    end_ = own_.ring.taken();                     // before a thief comes: never beyond what is in the ring
    if (!batch_is_in_front()) front_ends_ = end_; // before the positions have gone round
    was_empty_ = own_.ring.nothing_waits();
    injected_ = counts_.injected.read();
  }
  void end_take() noexcept {
    if (is_before(end_))
      front_ends_ = end_; // tasks were put in front of others
    else if (was_empty_ && counts_.injected.read() != injected_)
      front_ends_ = own_.ring.taken() + std::min(rules_.batch_in_front, own_.ring.size());
  }

  // --- the LIFO slot. Each task that runs from there counts: in a row, or in a tick.

  /// Returns whether no more tasks may run from the slot.
  bool slot_is_used_up(const lifo_turns& row) noexcept {
    if (rules_.lifo_counts == lifo_count::in_a_row) return row.used_up();
    if (const std::uint64_t tick = counts_.ticks.read(); tick != tick_) {
      tick_ = tick;
      runs_ = 0;
    }
    return runs_ >= row.cap();
  }
  /// Counts a task that runs from the slot. Call after `slot_is_used_up`.
  void count_slot_run(lifo_turns& row) noexcept {
    if (rules_.lifo_counts == lifo_count::in_a_row)
      row.count_run();
    else
      ++runs_;
  }

 private:
  /// Returns whether the ring's oldest task comes before that position.
  bool is_before(std::uint32_t position) const noexcept {
    return static_cast<std::int32_t>(position - own_.ring.taken()) > 0;
  }

  const discipline_rules rules_;
  const worker_queues& own_;
  const worker_counters& counts_;
  std::uint32_t end_ = 0;        // of the tasks that were taken before a take, a position in the ring
  bool was_empty_ = true;        // the ring, before a take
  std::uint64_t injected_ = 0;   // tasks from the injection queue before a take
  std::uint32_t front_ends_ = 0; // the ring's position at which the part of a batch in its front ends
  std::uint32_t runs_ = 0;       // from the slot in the tick
  std::uint64_t tick_ = 0;
};

} // namespace corewise::detail
