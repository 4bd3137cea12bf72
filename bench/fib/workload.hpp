#pragma once

#include <pools/counted_join.hpp>

#include <cstdint>
#include <utility>

// fib(n) by calls of fib(n - 1) and fib(n - 2): the cost of a fork and a join, where there is nothing else.
// An operation is a call. The size is n.

namespace corewise::bench::fib {

constexpr const char* name = "fib";
constexpr std::uint64_t usual_size = 28;

constexpr std::uint64_t result(std::uint64_t n) {
  std::uint64_t a = 0;
  std::uint64_t b = 1;
  for (; n != 0; --n) a = std::exchange(b, a + b);
  return a;
}
constexpr std::uint64_t calls(std::uint64_t n) { return 2 * result(n + 1) - 1; }

/// Counts in a pool in which no task can wait: of two calls one becomes a task, the other goes on here.
template <class Pool> void count(Pool& pool, std::uint64_t n, counted_join* end) {
  for (; n >= 2; n -= 2) {
    end = new counted_join{end, 2};
    pool.spawn([&pool, n, end] { count(pool, n - 1, end); });
  }
  arrive(end, n);
}

template <class Pool> std::uint64_t pass(Pool& pool, std::uint64_t n) {
  whole_sum end;
  pool.post([&] { count(pool, n, &end); });
  return end.wait();
}

} // namespace corewise::bench::fib
