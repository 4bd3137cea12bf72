#pragma once

#include <corewise/policies/detail/atomic.hpp>

#include <atomic>
#include <cstdint>

// Decides which threads take from a worker's ring and LIFO slot.
//
// Invariant: while the worker is between T2 and T4 as the sole taker, no other thread takes.
//
// In an engine that began with one worker, that worker is the sole taker, and takes without a locked
// instruction, until more workers come or the engine has ended. Then other workers, or the thread that
// destroys the queued tasks, take from there, though the worker may be in a task. The thread that lets them
// take first says so, and waits until the worker is not about to take.
//
//     worker                                     another thread that wants to take
//     T1  inside = true                          S1  others = asked
//     T2  others asked: take as they do          S2  a barrier on all CPUs that run the process
//     T3  take, by loads and stores              S3  wait while inside
//     T4  inside = false                         S4  others = come
//
// The compiler keeps T1 before T2, but the machine need not. S2 does that, once, so that T1 is a plain store.
// Each step of the worker that comes after S2 sees S1, and S3 sees each step that came before. If T2 came
// before S2, so did T1, and S3 waits for T4. Otherwise T2 sees S1. tests/model/sole_taker.pml proves it, and
// that it fails without S2 and without S3.
//
// | tag  | release site        | acquire site        | publishes            | weakened                      |
// |------|---------------------|---------------------|----------------------|-------------------------------|
// | sole | end_alone: inside_  | share: inside_ load | what the worker took | a running task is destroyed   |
// | come | share: others store | shared: others load | the same, to others  | the same                      |

namespace corewise::detail {

class sole_taker {
 public:
  /// Makes the worker the sole taker if `alone` is set and the kernel has such a barrier. Otherwise all
  /// threads may take from the beginning. Cost: some milliseconds for the first sole taker in a process of
  /// several threads.
  explicit sole_taker(bool alone) noexcept;
  sole_taker(const sole_taker&) = delete;
  sole_taker& operator=(const sole_taker&) = delete;

  /// Returns whether the worker is still the sole taker, and no other thread has asked to take. Call from any
  /// thread.
  bool alone() const noexcept { return others_.load(std::memory_order_relaxed) == none; }
  /// Returns whether any thread may take. Call from any thread.
  bool shared() const noexcept { return others_.load(std::memory_order_acquire) == come; } // pairs: come

  /// Returns whether no other thread takes until `end_alone`. Call from the worker. Cost: a load, or two and a
  /// store.
  bool begin_alone() noexcept {
    if (!alone()) return false;
    inside_.store(true, std::memory_order_relaxed);      // T1
    std::atomic_signal_fence(std::memory_order_seq_cst); // the compiler only; with S2, pairs: sole
    if (alone()) [[likely]] {                            // T2
      return true;
    }
    end_alone();
    return false;
  }
  /// Ends what `begin_alone` began. Call from the worker, after `begin_alone` has returned true.
  void end_alone() noexcept { inside_.store(false, std::memory_order_release); } // pairs: sole

  /// Lets any thread take from then on. Returns false if the kernel refuses; the worker then stays the sole
  /// taker. Call from any thread, but not from the worker between `begin_alone` and `end_alone`. Cost: a load; the
  /// first time, some microseconds on each CPU of the process.
  bool share() noexcept;

 private:
  enum : std::uint8_t { none, asked, come };

  atomic<std::uint8_t> others_;
  atomic<bool> inside_{false};
};

} // namespace corewise::detail
