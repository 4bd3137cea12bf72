#pragma once

#include <axes/finish_signal.hpp>

#include <atomic>
#include <cstdint>

namespace corewise::bench {

/// Joins calls in a pool in which no task can wait for another: the call that arrives last goes on as the one
/// that was waiting. Each join but the outermost is a block of its own, which goes with its last arrival.
struct counted_join {
  counted_join* const outer;
  std::atomic<std::uint32_t> left;
  std::atomic<std::uint64_t> sum{0};
};

/// The outermost join.
struct whole_sum : counted_join {
  whole_sum() : counted_join{nullptr, 1} {}

  std::uint64_t wait() {
    signal.wait();
    return sum.load(std::memory_order_relaxed);
  }

  command::finish_signal signal;
};

/// Ends a call with `value`.
inline void arrive(counted_join* at, std::uint64_t value) {
  for (;;) {
    at->sum.fetch_add(value, std::memory_order_relaxed);
    if (at->left.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    counted_join* const outer = at->outer;
    if (outer == nullptr) return static_cast<whole_sum*>(at)->signal.give();
    value = at->sum.load(std::memory_order_relaxed);
    delete at;
    at = outer;
  }
}

} // namespace corewise::bench
