#pragma once

#include <corewise/policies/detail/atomic.hpp>

#include <array>
#include <cstdint>

// The books of the tasks in flight. Invariant: the number of tasks in flight is Σ submitted − Σ finished over
// the ledgers of all threads. Each ledger has one writer, so counting needs no locked instruction. Tasks are
// counted in two phases: `drain` opens the other phase for tasks from outside and waits until no task of the
// old phase is left. A task's children belong to its own phase. A third phase counts daemons, for which no
// drain waits; the tasks that a daemon submits are counted as tasks from outside are.
//
// | tag   | release site       | acquire site       | publishes                | weakened                |
// |-------|--------------------|--------------------|--------------------------|-------------------------|
// | books | add: counter store | read: counter load | the tasks counted, their | drain returns too early |
// |       |                    |                    | effects                  |                         |
//
// A reader sums `finished` first and `submitted` second. Equal sums then mean that nothing was in flight at
// some moment in between. (The submission of a finished task was counted before, and the queue that the task
// passed through made that visible.)

namespace corewise::detail {

inline constexpr std::uint8_t phases = 2;
inline constexpr std::uint8_t daemon_phase = phases;

/// A counter with one writer and many readers.
class book {
 public:
  void add(std::uint64_t n = 1) noexcept {
    add_own(value_, n, std::memory_order_release); // pairs: books
  }
  std::uint64_t read() const noexcept { return value_.load(std::memory_order_acquire); } // pairs: books

 private:
  atomic<std::uint64_t> value_{0};
};

/// The counts of one thread or one seat, by phase, daemons last. 128 bytes, so that it shares neither its line nor the
/// neighbouring line with others.
struct alignas(128) ledger {
  std::array<book, phases + 1> submitted;
  std::array<book, phases + 1> finished;
};

} // namespace corewise::detail
