#pragma once

#include "base/faults.hpp"

#include <atomic>
#include <cstdint>

// Who takes from a worker's ring and LIFO slot. In an engine of one worker that is the worker alone, and it does so without a
// locked instruction. Until the engine has ended: then whoever destroys what is queued takes it from there, though the worker may
// be in a task still. That one says so first, and waits until the worker is not about to take.
//
//     worker                                     who takes part from now on
//     T1  inside = true                          S1  others = asked
//     T2  others: takes as they do               S2  a barrier on all CPUs that run the process
//     T3  takes, by loads and stores             S3  waits while inside
//     T4  inside = false                         S4  others = come
//
// The compiler keeps T1 before T2, the machine need not: that is what S2 is for, once, so that T1 is a plain store. Whatever of
// the worker's comes after S2 sees S1, and whatever came before is seen by S3. If T2 came before, so did T1, and S3 waits for
// T4. Else T2 sees S1. tests/model/sole_taker.pml proves it, and that it fails without S2 and without S3.
//
// | tag  | release site        | acquire site        | publishes            | weakened                              |
// |------|---------------------|---------------------|----------------------|---------------------------------------|
// | sole | leave: inside store | share: inside load  | what the worker took | a task is destroyed that runs         |
// | come | share: others store | shared: others load | the same, to others  | the same                              |

namespace corewise::detail {

class sole_taker {
 public:
  /// The worker is the only one, where `alone` and the kernel has such a barrier; else all take from the beginning. Cost: some
  /// milliseconds for the first that is alone in a process of several threads.
  explicit sole_taker(bool alone) noexcept;
  sole_taker(const sole_taker&) = delete;
  sole_taker& operator=(const sole_taker&) = delete;

  /// Any thread. Whether the worker is the only one still, and nobody has asked to take part.
  bool alone() const noexcept { return others_.load(std::memory_order_relaxed) == none; }
  /// Any thread. Whether anybody may take.
  bool shared() const noexcept { return others_.load(std::memory_order_acquire) == come; } // pairs: come

  /// The worker. True: nobody else takes until `leave`. Cost: a load, or two and a store.
  bool enter() noexcept {
    if (!alone()) return false;
    interleave();
    inside_.store(true, std::memory_order_relaxed);      // T1
    std::atomic_signal_fence(std::memory_order_seq_cst); // the compiler only; with S2, pairs: sole
    interleave();
    if (alone()) [[likely]] { // T2
      interleave();
      return true;
    }
    leave();
    return false;
  }
  /// The worker, after `enter` has answered true.
  void leave() noexcept { inside_.store(false, std::memory_order_release); } // pairs: sole

  /// Any thread, but for the worker between `enter` and `leave`. From then on anybody may take. False: the kernel refuses, and
  /// the worker stays the only one. Cost: a load; the first time some microseconds on each CPU of the process.
  bool share() noexcept;

 private:
  enum : std::uint8_t { none, asked, come };

  std::atomic<std::uint8_t> others_;
  std::atomic<bool> inside_{false};
};

} // namespace corewise::detail
