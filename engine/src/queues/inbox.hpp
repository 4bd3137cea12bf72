#pragma once

#include "queues/carried_task.hpp"

#include <corewise/engine/detail/task_blocks.hpp>
#include <corewise/policies/detail/atomic.hpp>
#include <corewise/policies/load_board.hpp>

#include <optional>
#include <span>
#include <utility>

// A worker's inbox: a bounded many-to-many ring. Producers put tasks in from outside. The owner takes them,
// and thieves and shutdown may take them, too.
//
// Invariant: a cell's sequence number says whose turn it is. `position` is a producer's turn, `position + 1`
// is a taker's.
//
// Sequence numbers are modulo 2^31. That is enough: a thread that has seen an old number loses the exchange
// of the position, which has 64 bits. In a taker's turn the same word also says whether the cell holds a copy
// (carried_task.hpp), for which the taker needs a block before it takes the cell. And the word says when the
// task came, so that other threads may compare without touching the task.
//
// | tag     | release site         | acquire site       | publishes            | weakened                |
// |---------|----------------------|--------------------|----------------------|-------------------------|
// | put     | push: sequence store | pop: sequence load | the task in the cell | a taker reads an older  |
// |         |                      |                    |                      | task                    |
// | emptied | pop: sequence store  | push: sequence     | that the cell was    | a producer overwrites a |
// |         |                      | load               | read                 | task                    |
//
// The positions themselves (relaxed) only decide which thread gets which cell. They live in the worker's
// entry of the load board. Source: Dmitry Vyukov's bounded MPMC queue.

namespace corewise::detail {

/// When a task came, in units of 1,024 ns, modulo 2^32. 0: no thread read the clock.
using arrival = std::uint32_t;

/// Returns whether `one` came before `other`; false if one of them is 0.
constexpr bool came_before(arrival one, arrival other) noexcept {
  return one != 0 && other != 0 && static_cast<std::int32_t>(one - other) < 0;
}

class inbox {
 public:
  struct cell {
    atomic<std::uint64_t> sequence; ///< 31 bits; one bit: `task` is a copy; the upper half is an `arrival`
    carried_task task;
  };

  /// `cells` has a power-of-two size. `cells` and `entry` must outlive the inbox.
  inbox(board_entry& entry, std::span<cell> cells) noexcept
      : entry_(entry),
        cells_(cells),
        mask_(cells.size() - 1) {
    for (std::uint64_t i = 0; i < cells.size(); ++i) cells[i].sequence.store(i, std::memory_order_relaxed);
  }

  /// Puts `t` in, and gives the block of a copied task back. Returns false if the inbox is full; the task
  /// then stays the caller's. Call from any thread.
  bool push(task_header* t, arrival came = 0) noexcept {
    std::uint64_t at = entry_.producers.inbox_in.load(std::memory_order_relaxed);
    for (;;) {
      cell& c = cells_[at & mask_];
      const std::int32_t turn = turns_until(c.sequence.load(std::memory_order_acquire), at); // pairs: emptied
      if (turn < 0) return false;
      if (turn > 0) {
        at = entry_.producers.inbox_in.load(std::memory_order_relaxed);
      } else if (entry_.producers.inbox_in.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) {
        const bool copied = carried_task::copies(t);
        c.task.put(t);
        c.sequence.store(word(at + 1, came) | (copied ? copy : 0), std::memory_order_release); // pairs: put
        if (copied) release_block(t, 0);
        return true;
      }
    }
  }

  /// Takes the oldest task. Returns null when there is none, when a producer is still putting it in, or when
  /// it is a copy and there is no memory for it; the copy then stays. Call from any thread.
  task_header* pop() noexcept {
    task_header* t = nullptr;
    void* block = nullptr;
    std::uint64_t at = entry_.owner.inbox_out.load(std::memory_order_relaxed);
    for (;;) {
      cell& c = cells_[at & mask_];
      const std::uint64_t found = c.sequence.load(std::memory_order_acquire); // pairs: put
      const std::int32_t turn = turns_until(found, at + 1);
      if (turn < 0) break;
      if (turn > 0) {
        at = entry_.owner.inbox_out.load(std::memory_order_relaxed);
        continue;
      }
      const bool copied = (found & copy) != 0;
      if (copied && block == nullptr) {
        block = try_acquire_block(0);
        if (block == nullptr) break;
      }
      if (entry_.owner.inbox_out.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) {
        t = copied ? c.task.unpack(std::exchange(block, nullptr)) : c.task.address();
        c.sequence.store(word(at + cells_.size(), 0), std::memory_order_release); // pairs: emptied
        break;
      }
    }
    if (block != nullptr) release_block(block, 0); // another thread was quicker
    return t;
  }

  /// Returns whether `pop` would find a task now. A task that a producer is still putting in does not count.
  bool ready() const noexcept {
    const std::uint64_t at = entry_.owner.inbox_out.load(std::memory_order_relaxed);
    return turns_until(cells_[at & mask_].sequence.load(std::memory_order_acquire), at + 1) >=
           0; // pairs: put
  }

  /// Returns when the task came that `pop` would find now, or nothing if there is none. Reads no task, so it
  /// acquires nothing. Call from any thread.
  std::optional<arrival> oldest() const noexcept {
    const std::uint64_t at = entry_.owner.inbox_out.load(std::memory_order_relaxed);
    const std::uint64_t found = cells_[at & mask_].sequence.load(std::memory_order_relaxed);
    if (turns_until(found, at + 1) != 0) return std::nullopt;
    return static_cast<arrival>(found >> 32);
  }

  /// Returns how many tasks wait. Exact at rest.
  std::uint32_t size() const noexcept {
    const std::uint64_t out = entry_.owner.inbox_out.load(std::memory_order_relaxed);
    const std::uint64_t in = entry_.producers.inbox_in.load(std::memory_order_relaxed);
    return in > out ? static_cast<std::uint32_t>(in - out) : 0;
  }

  /// The numbers of tasks that were ever put in, and that were ever taken out.
  std::uint64_t put() const noexcept { return entry_.producers.inbox_in.load(std::memory_order_relaxed); }
  std::uint32_t taken() const noexcept {
    return static_cast<std::uint32_t>(entry_.owner.inbox_out.load(std::memory_order_relaxed));
  }

 private:
  static constexpr std::uint64_t copy = std::uint64_t{1} << 31;

  static constexpr std::uint64_t word(std::uint64_t position, arrival came) noexcept {
    return std::uint64_t{came} << 32 | (position & (copy - 1));
  }
  /// Above 0: that cell's word is past `position`. Below 0: the word has not come to `position` yet.
  static constexpr std::int32_t turns_until(std::uint64_t word, std::uint64_t position) noexcept {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>((word - position) << 1));
  }

  board_entry& entry_;
  std::span<cell> cells_;
  std::uint64_t mask_;
};

} // namespace corewise::detail
