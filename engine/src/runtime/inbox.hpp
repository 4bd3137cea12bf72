#pragma once

#include "faults.hpp"

#include <corewise/engine/task_header.hpp>
#include <corewise/policies/load_board.hpp>

#include <span>

// A worker's inbox: a bounded many-to-many ring. Producers put tasks in from outside; the owner takes them,
// and thieves and shutdown may. Each cell's sequence number says whose turn it is: `position` a producer's,
// `position + 1` a taker's.
//
// | tag     | release site         | acquire site        | publishes              | weakened                     |
// |---------|----------------------|---------------------|------------------------|------------------------------|
// | put     | push: sequence store | pop: sequence load  | the task in the cell   | a taker reads an older task  |
// | emptied | pop: sequence store  | push: sequence load | that the cell was read | a producer overwrites a task |
//
// The positions themselves (relaxed) only decide who gets which cell; they live in the worker's slot of the
// load board. Source: Dmitry Vyukov's bounded MPMC queue.

namespace corewise::detail {

class inbox {
 public:
  struct cell {
    std::atomic<std::uint64_t> sequence;
    task_header* value;
  };

  /// `cells` has a power-of-two size and, like `slot`, is the owner's to keep.
  inbox(load_slot& slot, std::span<cell> cells) noexcept
      : slot_(slot),
        cells_(cells),
        mask_(cells.size() - 1) {
    for (std::uint64_t i = 0; i < cells.size(); ++i) cells[i].sequence.store(i, std::memory_order_relaxed);
  }

  /// Any thread. False: full.
  bool push(task_header* t) noexcept {
    std::uint64_t at = slot_.producers.inbox_in.load(std::memory_order_relaxed);
    for (;;) {
      cell& c = cells_[at & mask_];
      const auto turn =
          static_cast<std::int64_t>(c.sequence.load(std::memory_order_acquire) - at); // pairs: emptied
      if (turn < 0) return false;
      interleave();
      if (turn > 0) {
        at = slot_.producers.inbox_in.load(std::memory_order_relaxed);
      } else if (slot_.producers.inbox_in.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) {
        interleave();
        c.value = t;
        c.sequence.store(at + 1, std::memory_order_release); // pairs: put
        return true;
      }
    }
  }

  /// Any thread. The oldest task, or null when there is none or when it is still being put in.
  task_header* pop() noexcept {
    std::uint64_t at = slot_.owner.inbox_out.load(std::memory_order_relaxed);
    for (;;) {
      cell& c = cells_[at & mask_];
      const auto turn =
          static_cast<std::int64_t>(c.sequence.load(std::memory_order_acquire) - (at + 1)); // pairs: put
      if (turn < 0) return nullptr;
      interleave();
      if (turn > 0) {
        at = slot_.owner.inbox_out.load(std::memory_order_relaxed);
      } else if (slot_.owner.inbox_out.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) {
        task_header* t = c.value;
        interleave();
        c.sequence.store(at + cells_.size(), std::memory_order_release); // pairs: emptied
        return t;
      }
    }
  }

  /// Whether `pop` would find a task now: not so while the oldest one is still being put in.
  bool ready() const noexcept {
    const std::uint64_t at = slot_.owner.inbox_out.load(std::memory_order_relaxed);
    const std::uint64_t turn = cells_[at & mask_].sequence.load(std::memory_order_acquire); // pairs: put
    return static_cast<std::int64_t>(turn - (at + 1)) >= 0;
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
  load_slot& slot_;
  std::span<cell> cells_;
  std::uint64_t mask_;
};

} // namespace corewise::detail
