#pragma once

#include "queues/fork_deque.hpp"
#include "queues/ingress.hpp"
#include "queues/injection_queue.hpp"
#include "queues/lifo_slot.hpp"
#include "queues/local_queue.hpp"

#include <corewise/policies/detail/atomic.hpp>

namespace corewise::detail {

/// The memory that a worker's queues work on. It belongs to the group, and must outlive the queues.
struct queue_memory {
  board_entry& entry;
  std::span<local_queue::cell> ring_cells;
  std::span<inbox::cell> inbox_cells; ///< empty: the inbox is unbounded
};

/// The queues of one worker. They stay where they are for the life of the engine, whichever thread sits on
/// the seat.
struct worker_queues {
  /// `of_worker` must outlive the queues.
  worker_queues(const queue_memory& memory, sole_taker& of_worker) noexcept
      : takers(of_worker),
        ring(memory.entry, memory.ring_cells, takers),
        in(memory.entry, memory.inbox_cells),
        lifo(memory.entry, takers),
        forks(memory.entry.owner.fork_bottom, memory.entry.shared.fork_top, first_forks),
        touches_(&memory.entry.owner.touches) {}

  sole_taker& takers; ///< of the ring and the slot
  local_queue ring;
  ingress in;
  lifo_slot lifo;
  fork_deque forks;

  /// Returns whether another thread could take a task now.
  bool ready() const noexcept { return in.ready() || ring.size() != 0 || !forks.empty(); }
  /// Returns the same for a thread that may not look into an unbounded inbox: a task that a producer is still
  /// putting in there counts.
  bool seems_ready() const noexcept { return in.bounded() ? ready() : waiting() != 0; }
  /// Returns how many tasks wait and may be taken. Exact at rest.
  std::uint32_t waiting() const noexcept {
    return ring.size() + in.size() + static_cast<std::uint32_t>(forks.size());
  }
  /// The number of tasks that the worker ever began.
  std::uint64_t started() const noexcept { return touches_->load(std::memory_order_relaxed); }

 private:
  static constexpr std::uint64_t first_forks = 64;

  const atomic<std::uint64_t>* touches_;
};

} // namespace corewise::detail
