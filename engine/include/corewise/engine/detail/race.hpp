#pragma once

#include <corewise/policies/detail/atomic.hpp>

// How a coroutine that waits for several things goes on for one of them, and has taken nothing of the others.
//
// Invariant: exactly one part of a race wins, and it wins before a value or a permit is taken for it.
//
// Each part stands in the list of its primitive, or in the wheel of timers. A thread that would grant a part
// something *claims* the race first, by one word, under the lock of that list. If another part has won, it
// drops the part from its list and goes on to the next waiter.
//
//     1. try each part, in turn from a random one; none is ready:
//     2. enter each list, in the order of their addresses; a part that is ready by now is not entered:
//     3. claim the race for itself, so that nothing is granted any more; leave the lists; again from 1
//
// So a thread never has to claim two races at once, its own and that of the other side of a channel: in step
// 1 no list has its own. Facing selects make progress. Of those in step 2, consider one that is through with the list
// of the highest address that any has entered: no other one sends it back to step 1, and the others find it there in
// step 1. A race that sends to a channel and receives from it looks at both sides when it enters either. Else two of
// them would each stand on one side, find the other one there, and go back, perhaps for ever (tests/model/select.pml).
//
// A part may be granted while its coroutine still enters other lists. Both threads come to the *meeting* as
// their last step. The one that comes second lets the coroutine go on.
//
// | tag | release site   | acquire site | publishes                          | weakened                      |
// |-----|----------------|--------------|------------------------------------|-------------------------------|
// | met | meet: exchange | the same     | the value, and the frame suspended | half a value is read; resumed |
// |     |                |              |                                    | while it runs                 |
//
// Source of the two steps: `crossbeam-channel`, `select`; of the order of the lists: Go, `selectgo`.

namespace corewise::detail {

class race_word;
struct resumption;

/// One of the things for which a race waits.
struct race_part {
  race_word* race = nullptr;
  bool both_sides = false; ///< of one channel: another part of the race waits on its other side
};

class race_word {
 public:
  /// Whether the race waits for time alone. A race that waits for something else as well is left to the table
  /// of suspended coroutines when its engine ends.
  explicit race_word(bool sleeps_only) noexcept : sleeps(sleeps_only) {}

  /// Begins a round. Call while no part stands in any list.
  void open() noexcept { winner_.store(nullptr, std::memory_order_relaxed); }
  /// Lets `by` win. Returns false if another part has won. Relaxed: the locks of the lists order what
  /// matters.
  bool claim(const race_part& by) noexcept {
    const race_part* none = nullptr;
    return winner_.compare_exchange_strong(none, &by, std::memory_order_relaxed);
  }
  const race_part* winner() const noexcept { return winner_.load(std::memory_order_relaxed); }

  /// The last step of the coroutine that waits, and of the thread that has granted it something. Returns
  /// whether the other one has come. After false, do not touch the race again.
  bool meet() noexcept { return met_.exchange(true, std::memory_order_acq_rel); } // pairs: met

  /// Where a sleep wins because its engine has ended: the coroutine queues this as its last step, in place of
  /// the meeting, and is destroyed with the queued tasks.
  resumption* queued_last = nullptr;
  const bool sleeps;

 private:
  atomic<const race_part*> winner_{nullptr};
  atomic<bool> met_{false};
};

} // namespace corewise::detail
