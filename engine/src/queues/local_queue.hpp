#pragma once

#include "queues/sole_taker.hpp"

#include <corewise/engine/detail/task_chain.hpp>
#include <corewise/engine/detail/task_header.hpp>
#include <corewise/policies/detail/atomic.hpp>
#include <corewise/policies/load_board.hpp>
#include <corewise/policies/shared_work.hpp>

#include <span>

// The local queue of a worker: a bounded ring. Its owner fills and empties it at the ends; a thief takes half
// of it.
//
// Invariant: steal ≤ real ≤ tail. The owner never writes a cell between steal and tail, and each task between
// real and tail goes to the one thread whose change of the head moves real past it.
//
//     ───┬─────────┬────────────────┬───      owner:   push at tail, pop at real; push_front before real
//      steal  ≤   real      ≤      tail       thieves: move real ahead by half, copy, move steal after it
//
// The head packs two positions. `real` is the next task to take. `steal` lags behind while a thief copies the
// tasks that it has claimed, so that the owner does not overwrite them. Only one thief copies at a time. The
// positions live in the worker's entry of the load board: the board counts with them, and nothing else is
// counted.
//
// | tag    | release site      | acquire site      | publishes            | weakened                   |
// |--------|-------------------|-------------------|----------------------|----------------------------|
// | filled | push: tail store  | steal: tail load  | the cells up to tail | a thief takes a stale cell |
// | copied | steal: last head  | push: head load   | that cells were read | the owner overwrites a     |
// |        | CAS               |                   |                      | cell                       |
// | taken  | pop, steal, shed: | pop, steal, shed: | the new owners       | a task runs twice          |
// |        | head CAS          | head load         |                      |                            |
// | given  | push_front: head  | pop, steal: head  | the cells before it  | a thief takes a stale cell |
// |        | CAS               | load, CAS         |                      |                            |
//
// `exchange_oldest` is a push and a pop. Its CAS expects the head that it read before the push.
//
// Where no other thread takes (sole_taker.hpp), `pop` and `exchange_oldest` move the head by a store in place
// of the CAS. That store is a release of *taken* as well.
//
// `push_front` moves the head back. So a thief may find a head again that it has read before, with other
// tasks behind it. That is harmless: the thief reads the cells only after its CAS, which acquires what the
// owner's CAS released, and the tail that the thief read with the older head is at most the tail now.
//
// *taken* publishes the tail as well. A thief that sees a `real` that the owner moved also sees the tail that
// the owner moved it towards. So `tail - real` is never negative.
//
// Source: the queue of Go's and Tokio's schedulers; the packed head is Tokio's.

namespace corewise::detail {

class local_queue {
 public:
  using cell = atomic<task_header*>; // relaxed: ordered by head and tail

  /// `cells` has a power-of-two size. `cells`, `entry` and `takers` must outlive the queue.
  local_queue(board_entry& entry, std::span<cell> cells, sole_taker& takers) noexcept
      : entry_(entry),
        takers_(takers),
        cells_(cells.data()),
        mask_(static_cast<std::uint32_t>(cells.size() - 1)) {}

  /// Pushes `t` behind the newest task. Returns false if the ring is full. Owner only.
  bool push(task_header* t) noexcept {
    const std::uint64_t head = entry_.shared.ring_head.load(std::memory_order_acquire); // pairs: copied
    const std::uint32_t tail = entry_.owner.ring_tail.load(std::memory_order_relaxed);  // own
    if (tail - steal_of(head) >= capacity()) return false;
    cells_[tail & mask_].store(t, std::memory_order_relaxed);
    entry_.owner.ring_tail.store(tail + 1, std::memory_order_release); // pairs: filled
    return true;
  }

  /// Puts the tasks of a chain before the oldest task, in their order, and empties the chain. Does nothing
  /// when there is no room for all of them or a thief is at work. Returns how many tasks it put. Owner only.
  std::uint32_t push_front(task_chain& chain) noexcept {
    std::uint64_t head = entry_.shared.ring_head.load(std::memory_order_acquire); // pairs: copied, taken
    const std::uint32_t real = real_of(head);
    const std::uint32_t tail = entry_.owner.ring_tail.load(std::memory_order_relaxed); // own
    const std::uint32_t count = chain.size;
    if (count == 0 || steal_of(head) != real || tail - real + count > capacity()) return 0;
    const std::uint32_t first = real - count;
    std::uint32_t at = first;
    for (task_header* t = chain.first; t != nullptr; t = t->next)
      cells_[at++ & mask_].store(t, std::memory_order_relaxed);
    if (!entry_.shared.ring_head.compare_exchange_strong(head, pack(first, first),
                                                         std::memory_order_acq_rel, // pairs: given
                                                         std::memory_order_acquire))
      return 0;
    chain = {};
    return count;
  }

  /// Takes the oldest task, or returns null. Owner only.
  task_header* pop() noexcept {
    std::uint64_t head = entry_.shared.ring_head.load(std::memory_order_acquire); // pairs: taken
    for (;;) {
      const std::uint32_t real = real_of(head);
      if (real == entry_.owner.ring_tail.load(std::memory_order_relaxed)) return nullptr; // own
      if (move_head(entry_, head, without_oldest(head)))
        return cells_[real & mask_].load(std::memory_order_relaxed);
    }
  }

  /// Pushes t and sets it to the oldest task, taken out, as `push` and `pop` do one after the other, but
  /// reads the positions once. Sets t to null when a thief came between. Returns false if the ring is full.
  /// Owner only.
  bool exchange_oldest(task_header*& t) noexcept {
    board_entry& entry = entry_;
    std::uint64_t head = entry.shared.ring_head.load(std::memory_order_acquire);      // pairs: copied, taken
    const std::uint32_t tail = entry.owner.ring_tail.load(std::memory_order_relaxed); // own
    const std::uint32_t real = real_of(head);
    cell* const cells = cells_;
    const std::uint32_t mask = mask_;
    if (tail - steal_of(head) > mask) [[unlikely]]
      return false;
    cells[tail & mask].store(t, std::memory_order_relaxed);
    task_header* const oldest = cells[real & mask].load(std::memory_order_relaxed); // t, while nothing waits
    entry.owner.ring_tail.store(tail + 1, std::memory_order_release);               // pairs: filled
    t = move_head(entry, head, without_oldest(head)) ? oldest : nullptr;
    return true;
  }

  /// Takes the older half out. Returns an empty chain when a thief is at work, which makes room as well.
  /// Owner only, when the ring is full.
  task_chain shed() noexcept {
    std::uint64_t head = entry_.shared.ring_head.load(std::memory_order_acquire); // pairs: taken
    const std::uint32_t real = real_of(head);
    if (steal_of(head) != real) return {};
    const std::uint32_t count = shed_of(entry_.owner.ring_tail.load(std::memory_order_relaxed) - real); // own
    if (!entry_.shared.ring_head.compare_exchange_strong(head, pack(real + count, real + count),
                                                         std::memory_order_acq_rel, // pairs: taken
                                                         std::memory_order_acquire))
      return {};
    task_chain half;
    for (std::uint32_t i = 0; i < count; ++i)
      half.push(cells_[(real + i) & mask_].load(std::memory_order_relaxed));
    return half;
  }

  /// Takes half of the tasks, rounded up, at most `most`, oldest first. Returns none when the ring is empty
  /// or another thief is at work. The caller must have room for them. Call from any thread, if the worker is
  /// not the sole taker (`takers`).
  task_chain steal(std::uint32_t most) noexcept;

  /// Returns how many tasks wait. Call from any thread. Exact at rest.
  std::uint32_t size() const noexcept {
    const std::uint32_t real =
        real_of(entry_.shared.ring_head.load(std::memory_order_acquire)); // pairs: taken
    const auto waiting =
        static_cast<std::int32_t>(entry_.owner.ring_tail.load(std::memory_order_relaxed) - real);
    return static_cast<std::uint32_t>(
        std::clamp<std::int32_t>(waiting, 0, static_cast<std::int32_t>(capacity())));
  }

  /// The position of the oldest task: how many were ever taken out, less those that were put in front, modulo
  /// 2^32.
  std::uint32_t taken() const noexcept {
    return real_of(entry_.shared.ring_head.load(std::memory_order_relaxed));
  }

  /// Returns whether the ring is empty. Owner only. Cost: a load of each position.
  bool nothing_waits() const noexcept {
    return taken() == entry_.owner.ring_tail.load(std::memory_order_relaxed); // own
  }

  std::uint32_t capacity() const noexcept { return mask_ + 1; }

 private:
  friend struct debugger_layouts;

  static std::uint64_t pack(std::uint32_t steal, std::uint32_t real) noexcept {
    return std::uint64_t{steal} << 32 | real;
  }
  /// Returns the head moved on by one task. The steal position of a thief that copies stays where it is.
  static std::uint64_t without_oldest(std::uint64_t head) noexcept {
    const std::uint32_t next = real_of(head) + 1;
    return pack(steal_of(head) == real_of(head) ? next : steal_of(head), next);
  }
  static std::uint32_t steal_of(std::uint64_t head) noexcept {
    return static_cast<std::uint32_t>(head >> 32);
  }
  static std::uint32_t real_of(std::uint64_t head) noexcept { return static_cast<std::uint32_t>(head); }

  /// Moves the head to `to`, so that the owner takes the tasks before it. Returns false if another thread
  /// came between; `head` is then the head as that thread left it.
  [[gnu::always_inline]] bool move_head(board_entry& entry, std::uint64_t& head, std::uint64_t to) noexcept {
    if (takers_.begin_alone()) {
      entry.shared.ring_head.store(to, std::memory_order_release); // pairs: taken
      takers_.end_alone();
      return true;
    }
    return entry.shared.ring_head.compare_exchange_strong(head, to, std::memory_order_acq_rel, // pairs: taken
                                                          std::memory_order_acquire);
  }

  board_entry& entry_;
  sole_taker& takers_;
  cell* cells_;
  std::uint32_t mask_;
};

inline task_chain local_queue::steal(std::uint32_t most) noexcept {
  std::uint64_t head = entry_.shared.ring_head.load(std::memory_order_acquire); // pairs: taken
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  do {
    first = real_of(head);
    if (steal_of(head) != first) return {};
    const std::uint32_t waiting =
        entry_.owner.ring_tail.load(std::memory_order_acquire) - first; // pairs: filled
    // A tail that is read long after the head may seem further ahead than the ring is long; the CAS then
    // fails.
    count = half_of(waiting, std::min(most, capacity()));
    if (count == 0) return {};
  } while (!entry_.shared.ring_head.compare_exchange_weak(head, pack(first, first + count),
                                                          std::memory_order_acq_rel, // pairs: taken
                                                          std::memory_order_acquire));
  task_chain stolen;
  for (std::uint32_t i = 0; i < count; ++i) {
    stolen.push(cells_[(first + i) & mask_].load(std::memory_order_relaxed));
  }

  head = pack(first, first + count);
  while (!entry_.shared.ring_head.compare_exchange_weak(head, pack(real_of(head), real_of(head)),
                                                        std::memory_order_acq_rel, // pairs: copied
                                                        std::memory_order_acquire)) {
  }
  return stolen;
}

} // namespace corewise::detail
