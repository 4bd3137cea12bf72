#pragma once

#include <corewise/policies/detail/atomic.hpp>

#include <cstdint>
#include <optional>

// Decides which thread a seat belongs to (design.md, D9). The thread that runs on a seat *holds* it, and only
// that thread touches its queues. A thread that is about to block *lends* the seat: from then on it touches
// nothing of it until it has it back, and any spare thread may take it meanwhile. The generation says which
// lending is meant.
//
//     word = generation << 1 | lent
//
//     thread that blocks                            spare thread, to which this lending was offered
//     L1  lend: (g, held) -> (g + 1, lent)          T1  take: compare (g + 1, lent), set (g + 2, held)
//     L2  block                                     T2  equal: the seat with all that is in it is the spare's
//     L3  regain: compare (g + 1, lent),                unequal: it was late, and waits on
//         set (g + 1, held)
//     L4  equal: go on with the task on the seat
//         unequal: finish the task without one, become spare
//
// One of L3 and T1 finds the word as L1 left it, and the other does not. So the seat never has two threads.
// No other thread ever takes it. So it has a thread whenever it is not lent, and the lender still stands by
// when the offer is late or no spare takes it up. The generation grows with each lending and each taking. So
// a thread that comes back, or a spare that comes late, while another lending of the same seat is under way
// finds another number. tests/model/seat.pml proves it, and that it fails when the thread that comes back
// does not compare, when the spare does not, and when generations repeat.
//
// Only its own thread lends a seat. Taking one from a thread that has said nothing would need that thread to
// announce each access (docs/adr/0011).
//
// | tag   | release site     | acquire site | publishes                  | weakened                                |
// |-------|------------------|--------------|----------------------------|-----------------------------------------|
// | seat  | lend: exchange   | take: CAS    | all that the seat's thread | the spare goes on with queues and       |
// |       |                  |              | wrote into the seat        | counters as they were long before       |
// | B2    | lend: exchange   | supervisor:  | nothing; order only        | the supervisor sleeps while a task      |
// |       | (seq_cst)        | V2           | (supervisor.hpp)           | blocks and others wait for its seat     |
// | shown | lend, regain,    | held;        | nothing; order only: the   | the bit `unavailable` stays as it was   |
// |       | take; `active`;  | active_in;   | last to write the bit has  | before the last change                  |
// |       | the bit's writes | the bit's    | seen the last change of    | (show_availability): a worker is passed |
// |       | (all seq_cst)    | test         | both words                 | by for good, or sent to while it is out |

namespace corewise::detail {

class seat_generation {
 public:
  /// Lends the seat. Returns the lending's generation. Call from the seat's thread, which then touches the
  /// seat no more. Cost: a locked instruction.
  std::uint64_t lend() noexcept {
    const std::uint64_t mine =
        generation_of(word_.load(std::memory_order_relaxed)) + 1; // only this thread writes now
    word_.exchange(mine << 1 | lent, std::memory_order_seq_cst);  // pairs: seat, B2, shown
    return mine;
  }

  /// Returns whether the seat is the caller's own again. Call from the thread that lent it. Cost: a locked
  /// instruction.
  bool regain(std::uint64_t lending) noexcept {
    std::uint64_t expected = lending << 1 | lent;
    // No other thread has written to the seat, or it is not this thread's.
    return word_.compare_exchange_strong(expected, lending << 1,
                                         std::memory_order_seq_cst, // pairs: shown
                                         std::memory_order_relaxed);
  }

  /// Returns whether the seat is the caller's now. Call from any thread.
  bool take(std::uint64_t lending) noexcept {
    std::uint64_t expected = lending << 1 | lent;
    return word_.compare_exchange_strong(expected, (lending + 1) << 1,
                                         std::memory_order_seq_cst, // pairs: seat, shown
                                         std::memory_order_relaxed);
  }

  /// Returns whether a thread holds the seat. Call from any thread.
  bool held() const noexcept { return (word_.load(std::memory_order_seq_cst) & lent) == 0; } // pairs: shown

  /// Returns the lending that is under way, or nothing while the seat is held. Call from any thread.
  std::optional<std::uint64_t> lending() const noexcept {
    const std::uint64_t now = word_.load(std::memory_order_relaxed);
    if ((now & lent) == 0) return std::nullopt;
    return generation_of(now);
  }

 private:
  static constexpr std::uint64_t lent = 1;
  static constexpr std::uint64_t generation_of(std::uint64_t word) noexcept { return word >> 1; }

  atomic<std::uint64_t> word_{0};
};

} // namespace corewise::detail
