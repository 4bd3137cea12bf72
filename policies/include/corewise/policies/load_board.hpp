#pragma once

#include <corewise/policies/detail/atomic.hpp>
#include <corewise/topology/ids.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

// The load board: how many tasks wait for each worker, without counting them.
//
// Other systems add an atomic read-modify-write to each push and pop to keep a counter. Here the counter *is*
// the block of queue positions that the queues need anyway: load is the difference of positions. The owner
// writes one line, the owner and thieves write one, producers write one. So a reader takes three misses a
// worker at most, no thread pays for counting alone, and a producer meets its worker only where a task
// changes hands (ADR 0024).
//
// A reader takes the others' lines first and the owner's line last: a position that only grows is then read
// early where it is subtracted. The difference may be out of date by the pushes and pops that ran
// meanwhile; `load_view::load` clamps the difference to [0, capacity]. At rest it is exact.
//
// | tag   | release site               | acquire site    | publishes            | weakened                       |
// |-------|----------------------------|-----------------|----------------------|--------------------------------|
// | board | every position's own store | load_view::load | nothing but a number | a load that lags; never a task |

namespace corewise {

/// One worker's board entry. The queues of the engine work on these words directly; the simulator and
/// `explain` set them.
struct alignas(128) board_entry {
  /// Written by the worker that owns the board entry.
  struct alignas(64) owner_line {
    detail::atomic<std::uint32_t> ring_tail{0};
    detail::atomic<std::uint32_t> running{0};   ///< 1 while a task runs
    detail::atomic<std::uint64_t> inbox_out{0}; ///< thieves move it too, when they take from the inbox
    detail::atomic<void*> lifo{nullptr};        ///< the task in the LIFO slot; thieves exchange it out by age
    detail::atomic<std::uint64_t> touched_at{0};  ///< when it last took work: a stamp, larger means later
    detail::atomic<std::uint64_t> touches{0};     ///< how often it took work
    detail::atomic<std::uint64_t> fork_bottom{0}; ///< where the next forked task goes
  } owner;
  /// Written by thieves, and by the owner when it takes from its ring, for the queue's own sake.
  struct alignas(64) shared_line {
    detail::atomic<std::uint64_t> ring_head{0}; ///< steal position << 32 | real position
    detail::atomic<std::uint64_t> cooled{0};    ///< how many of `touches` are forgotten (activity.hpp)
    detail::atomic<std::uint64_t> fork_top{
        0}; ///< the oldest forked task; its owner moves it too, for the last one
  } shared;
  /// Written by producers only, on any thread.
  struct alignas(64) producers_line {
    detail::atomic<std::uint64_t> inbox_in{0};
    detail::atomic<std::uintptr_t> inbox_last{0}; ///< the newest task of an unbounded inbox
  } producers;

  /// Returns whether a task runs. Call from any thread.
  bool runs() const noexcept { return owner.running.load(std::memory_order_relaxed) != 0; }
};
static_assert(sizeof(board_entry::owner_line) == 64 && sizeof(board_entry::shared_line) == 64 &&
              sizeof(board_entry::producers_line) == 64);
static_assert(sizeof(board_entry) == 256);

/// How busy a worker has been of late: the activity order compares this.
struct worker_activity {
  std::uint64_t touches = 0;    ///< how often it took work, less what cooling has taken off
  std::uint64_t touched_at = 0; ///< when it last did; larger means later, 0 never
};

/// A set of workers of one group, one bit each, of any width; every operation is one atomic instruction on
/// one word. `claim` clears, so two submitters never win the same worker. The owner of a set says what it
/// means and which of its orders pairs with which: sleepers.hpp for `parked` (claim), seat_generation.hpp for
/// `unavailable` (shown).
class worker_bits {
 public:
  static constexpr std::size_t words_for(std::size_t count) noexcept { return (count + 63) / 64; }

  /// An empty set. The owner keeps `words`, as many as `words_for` says.
  worker_bits(detail::atomic<std::uint64_t>* words, std::size_t count) noexcept
      : words_(words),
        count_(count) {}

  std::size_t size() const noexcept { return count_; }
  /// Workers `64 * w` to `64 * w + 63`, the first in the lowest bit. For callers that combine sets.
  std::uint64_t word(std::size_t w, std::memory_order order = std::memory_order_relaxed) const noexcept {
    return words_[w].load(order);
  }
  void set(std::size_t i, std::memory_order order = std::memory_order_seq_cst) noexcept {
    words_[i / 64].fetch_or(bit(i), order);
  }
  /// Clears bit i. Returns whether it was set, that is, whether the caller claimed the worker.
  bool claim(std::size_t i, std::memory_order order = std::memory_order_seq_cst) noexcept {
    return (words_[i / 64].fetch_and(~bit(i), order) & bit(i)) != 0;
  }
  bool test(std::size_t i, std::memory_order order = std::memory_order_relaxed) const noexcept {
    return (words_[i / 64].load(order) & bit(i)) != 0;
  }
  bool any(std::memory_order order = std::memory_order_relaxed) const noexcept {
    for (std::size_t w = 0; w < words_for(count_); ++w)
      if (words_[w].load(order) != 0) return true;
    return false;
  }
  /// The lowest set bit, or `size()` when there is none.
  std::size_t lowest(std::memory_order order = std::memory_order_relaxed) const noexcept {
    for (std::size_t w = 0; w < words_for(count_); ++w)
      if (const std::uint64_t word = words_[w].load(order); word != 0)
        return w * 64 + static_cast<std::size_t>(std::countr_zero(word));
    return count_;
  }

 private:
  static std::uint64_t bit(std::size_t i) noexcept { return std::uint64_t{1} << (i % 64); }

  detail::atomic<std::uint64_t>* words_;
  std::size_t count_;
};

} // namespace corewise
