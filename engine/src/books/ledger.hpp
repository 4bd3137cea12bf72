#pragma once

#include <array>
#include <atomic>
#include <cstdint>

// What is in flight is Σ submitted − Σ finished over the ledgers of all threads: each ledger has one writer,
// so counting needs no locked instruction. Work is counted in two phases: `drain` opens the other one for
// what comes from outside and waits until nothing of the old one is left; a task's children belong to its own
// phase.
//
// | tag   | release site       | acquire site       | publishes                        | weakened                |
// |-------|--------------------|--------------------|----------------------------------|-------------------------|
// | books | add: counter store | read: counter load | the tasks counted, their effects | drain returns too early |
//
// A reader sums `finished` first and `submitted` second: equal sums then mean that at some moment in between
// nothing was in flight. (A finished task's submission was counted before, and the queue that it passed
// through made that visible.)

namespace corewise::detail {

inline constexpr std::uint8_t phases = 2;

/// A counter with one writer that others read.
class book {
 public:
  void add(std::uint64_t n = 1) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_release); // pairs: books
  }
  std::uint64_t read() const noexcept { return value_.load(std::memory_order_acquire); } // pairs: books

 private:
  std::atomic<std::uint64_t> value_{0};
};

/// One thread's or one seat's counts, by phase. 128 bytes, so that it shares no line (nor its neighbour) with
/// others.
struct alignas(128) ledger {
  std::array<book, phases> submitted;
  std::array<book, phases> finished;
};

} // namespace corewise::detail
