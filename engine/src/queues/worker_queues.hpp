#pragma once

#include "queues/fork_deque.hpp"
#include "queues/ingress.hpp"
#include "queues/injection_queue.hpp"
#include "queues/lifo_slot.hpp"
#include "queues/local_queue.hpp"

namespace corewise::detail {

/// What a worker's queues work on; the group's to keep.
struct queue_memory {
  load_slot& slot;
  std::span<local_queue::cell> ring_cells;
  std::span<inbox::cell> inbox_cells; ///< empty: unbounded
};

/// The queues of one worker. They stay where they are for the life of the engine, whoever sits on the seat.
struct worker_queues {
  /// `of_worker` is the worker's to keep.
  worker_queues(const queue_memory& memory, sole_taker& of_worker) noexcept
      : takers(of_worker),
        ring(memory.slot, memory.ring_cells, takers),
        in(memory.slot, memory.inbox_cells),
        next(memory.slot, takers),
        forks(memory.slot.owner.fork_bottom, memory.slot.shared.fork_top, first_forks),
        touches_(&memory.slot.owner.touches) {}

  sole_taker& takers; ///< of the ring and the slot
  local_queue ring;
  ingress in;
  next_slot next;
  fork_deque forks;

  /// Whether somebody could take a task now.
  bool ready() const noexcept { return in.ready() || ring.size() != 0 || !forks.empty(); }
  /// Tasks that wait and may be taken. Exact at rest.
  std::uint32_t waiting() const noexcept {
    return ring.size() + in.size() + static_cast<std::uint32_t>(forks.size());
  }
  /// Tasks that its worker ever began, modulo 2^32.
  std::uint32_t started() const noexcept { return touches_->load(std::memory_order_relaxed); }

 private:
  static constexpr std::uint64_t first_forks = 64;

  const std::atomic<std::uint32_t>* touches_;
};

} // namespace corewise::detail
