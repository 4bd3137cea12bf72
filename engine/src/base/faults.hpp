#pragma once

#ifdef COREWISE_FAULTS
#include <atomic>
#endif

// What tests do to an engine from within, and what they see there. With COREWISE_FAULTS, which only the build in
// tests/faults/ defines, the functions are that test's; in every other build they are nothing.

namespace corewise::detail {

#ifdef COREWISE_FAULTS

/// Stands between two steps of a protocol, where other threads may come between: takes a while now and then.
void interleave() noexcept;

/// Whether the wake-up that is due now gets lost.
[[nodiscard]] bool loses_wake() noexcept;

/// Whether there is no memory now for a task that comes out of an inbox.
[[nodiscard]] bool refuses_blocks() noexcept;

/// Whether a worker looks at what is shared only when its ring is empty, as Volt's description prints it.
[[nodiscard]] bool looks_behind_ring() noexcept;

/// Whether what a ring sheds stays together, and a worker looks there only when its ring is empty: the batched queue of
/// Cats Effect 3.
[[nodiscard]] bool sheds_in_batches() noexcept;

/// Two threads are at once where only one may be.
void met() noexcept;

/// A part of the engine that one thread at a time may use, each through a `turn`.
class one_at_a_time {
 public:
  class turn {
   public:
    explicit turn(one_at_a_time& part) noexcept : part_(part) {
      if (part_.used_.exchange(true, std::memory_order_relaxed)) met();
    }
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;
    ~turn() { part_.used_.store(false, std::memory_order_relaxed); }

   private:
    one_at_a_time& part_;
  };

 private:
  std::atomic<bool> used_{false}; // relaxed: a test's, which must not order what it watches
};

#else

inline void interleave() noexcept {}
[[nodiscard]] constexpr bool loses_wake() noexcept { return false; }
[[nodiscard]] constexpr bool refuses_blocks() noexcept { return false; }
[[nodiscard]] constexpr bool looks_behind_ring() noexcept { return false; }
[[nodiscard]] constexpr bool sheds_in_batches() noexcept { return false; }

struct one_at_a_time {
  struct turn {
    explicit constexpr turn(one_at_a_time& /*part*/) noexcept {}
  };
};

#endif

} // namespace corewise::detail
