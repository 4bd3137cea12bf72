#pragma once

#include "base/faults.hpp"
#include "queues/carried_task.hpp"

#include <corewise/engine/detail/task_blocks.hpp>
#include <corewise/policies/load_board.hpp>

#include <optional>
#include <span>
#include <utility>

// A worker's inbox: a bounded many-to-many ring. Producers put tasks in from outside; the owner takes them,
// and thieves and shutdown may. Each cell's sequence number says whose turn it is: `position` a producer's,
// `position + 1` a taker's, modulo 2^31, which is enough, since who has seen an old one loses the exchange of the position, which
// has 64 bits. Beside a taker's, in the same word, is whether the cell holds a copy (carried_task.hpp), for which a block is needed
// before the cell is taken, and when the task came, so that others may compare without touching the task.
//
// | tag     | release site         | acquire site        | publishes              | weakened                     |
// |---------|----------------------|---------------------|------------------------|------------------------------|
// | put     | push: sequence store | pop: sequence load  | the task in the cell   | a taker reads an older task  |
// | emptied | pop: sequence store  | push: sequence load | that the cell was read | a producer overwrites a task |
//
// The positions themselves (relaxed) only decide who gets which cell; they live in the worker's slot of the
// load board. Source: Dmitry Vyukov's bounded MPMC queue.

namespace corewise::detail {

/// When a task came, in units of 1,024 ns, modulo 2^32; 0: nobody looked.
using arrival = std::uint32_t;

/// Whether one came before the other; not if nobody knows.
constexpr bool came_before(arrival one, arrival other) noexcept {
  return one != 0 && other != 0 && static_cast<std::int32_t>(one - other) < 0;
}

class inbox {
 public:
  struct cell {
    std::atomic<std::uint64_t>
        sequence; ///< 31 bits; one whether `task` is a copy; the upper half is an `arrival`
    carried_task task;
  };

  /// `cells` has a power-of-two size and, like `slot`, is the owner's to keep.
  inbox(load_slot& slot, std::span<cell> cells) noexcept
      : slot_(slot),
        cells_(cells),
        mask_(cells.size() - 1) {
    for (std::uint64_t i = 0; i < cells.size(); ++i) cells[i].sequence.store(i, std::memory_order_relaxed);
  }

  /// Any thread. False: full. Else the task is the inbox's, and no block of a copied one is.
  bool push(task_header* t, arrival came = 0) noexcept {
    std::uint64_t at = slot_.producers.inbox_in.load(std::memory_order_relaxed);
    for (;;) {
      cell& c = cells_[at & mask_];
      const std::int32_t turn = turns_until(c.sequence.load(std::memory_order_acquire), at); // pairs: emptied
      if (turn < 0) return false;
      interleave();
      if (turn > 0) {
        at = slot_.producers.inbox_in.load(std::memory_order_relaxed);
      } else if (slot_.producers.inbox_in.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) {
        interleave();
        const bool copied = carried_task::copies(t);
        c.task.put(t);
        c.sequence.store(word(at + 1, came) | (copied ? copy : 0), std::memory_order_release); // pairs: put
        if (copied) release_block(t, 0);
        return true;
      }
    }
  }

  /// Any thread. The oldest task, or null when there is none, when it is still being put in, or when it lies here as a copy and
  /// there is no memory for it; then it stays.
  task_header* pop() noexcept {
    task_header* t = nullptr;
    void* block = nullptr;
    std::uint64_t at = slot_.owner.inbox_out.load(std::memory_order_relaxed);
    for (;;) {
      cell& c = cells_[at & mask_];
      const std::uint64_t found = c.sequence.load(std::memory_order_acquire); // pairs: put
      const std::int32_t turn = turns_until(found, at + 1);
      if (turn < 0) break;
      interleave();
      if (turn > 0) {
        at = slot_.owner.inbox_out.load(std::memory_order_relaxed);
        continue;
      }
      const bool copied = (found & copy) != 0;
      if (copied && block == nullptr) {
        block = try_acquire_block(0);
        if (block == nullptr) break;
      }
      if (slot_.owner.inbox_out.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) {
        t = copied ? c.task.unpack(std::exchange(block, nullptr)) : c.task.address();
        interleave();
        c.sequence.store(word(at + cells_.size(), 0), std::memory_order_release); // pairs: emptied
        break;
      }
    }
    if (block != nullptr) release_block(block, 0); // another was quicker
    return t;
  }

  /// Whether `pop` would find a task now: not so while the oldest one is still being put in.
  bool ready() const noexcept {
    const std::uint64_t at = slot_.owner.inbox_out.load(std::memory_order_relaxed);
    return turns_until(cells_[at & mask_].sequence.load(std::memory_order_acquire), at + 1) >=
           0; // pairs: put
  }

  /// Any thread. When the task came that `pop` would find now; nothing if there is none. Reads no task, so it acquires nothing.
  std::optional<arrival> oldest() const noexcept {
    const std::uint64_t at = slot_.owner.inbox_out.load(std::memory_order_relaxed);
    const std::uint64_t found = cells_[at & mask_].sequence.load(std::memory_order_relaxed);
    if (turns_until(found, at + 1) != 0) return std::nullopt;
    return static_cast<arrival>(found >> 32);
  }

  /// How many tasks wait. Exact at rest.
  std::uint32_t size() const noexcept {
    const std::uint64_t out = slot_.owner.inbox_out.load(std::memory_order_relaxed);
    const std::uint64_t in = slot_.producers.inbox_in.load(std::memory_order_relaxed);
    return in > out ? static_cast<std::uint32_t>(in - out) : 0;
  }

  /// Tasks that were ever put in and taken out.
  std::uint64_t put() const noexcept { return slot_.producers.inbox_in.load(std::memory_order_relaxed); }
  std::uint32_t taken() const noexcept {
    return static_cast<std::uint32_t>(slot_.owner.inbox_out.load(std::memory_order_relaxed));
  }

 private:
  static constexpr std::uint64_t copy = std::uint64_t{1} << 31;

  static constexpr std::uint64_t word(std::uint64_t position, arrival came) noexcept {
    return std::uint64_t{came} << 32 | (position & (copy - 1));
  }
  /// Above 0: that cell's word is past `position`; below 0: it is not there yet.
  static constexpr std::int32_t turns_until(std::uint64_t word, std::uint64_t position) noexcept {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>((word - position) << 1));
  }

  load_slot& slot_;
  std::span<cell> cells_;
  std::uint64_t mask_;
};

} // namespace corewise::detail
