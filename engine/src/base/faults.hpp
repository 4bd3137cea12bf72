#pragma once

#ifdef COREWISE_FAULTS
#include <atomic>
#endif

// The faults that tests cause inside an engine, and the checks that they make there. With COREWISE_FAULTS,
// which only the build in tests/faults/ defines, that test defines these functions; in every other build they
// do nothing.

namespace corewise::detail {

#ifdef COREWISE_FAULTS

/// Returns whether the wake-up that is due now gets lost.
[[nodiscard]] bool loses_wake() noexcept;

/// Returns whether the system gives no thread for the supervisor now.
[[nodiscard]] bool refuses_supervisor() noexcept;

/// Returns whether there is no memory now for a task that comes out of an inbox.
[[nodiscard]] bool refuses_blocks() noexcept;

/// Reports that two threads are at once where only one may be.
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
  std::atomic<bool> used_{false}; // relaxed: the test's, which must not order what it watches
};

#else

[[nodiscard]] constexpr bool loses_wake() noexcept { return false; }
[[nodiscard]] constexpr bool refuses_supervisor() noexcept { return false; }
[[nodiscard]] constexpr bool refuses_blocks() noexcept { return false; }

struct one_at_a_time {
  struct turn {
    explicit constexpr turn(one_at_a_time& /*part*/) noexcept {}
  };
};

#endif

} // namespace corewise::detail
