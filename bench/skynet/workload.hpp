#pragma once

#include <pools/counted_join.hpp>

#include <cstdint>

// A tree in which each inner node has ten children, and the leaves' numbers are summed. The size is the
// depth; an operation is a leaf. Other projects measure 100 million leaves, a depth of 8.

namespace corewise::bench::skynet {

constexpr const char* name = "skynet";
constexpr std::uint64_t usual_size = 6;
constexpr std::uint64_t children = 10;

constexpr std::uint64_t result(std::uint64_t leaves) { return leaves * (leaves - 1) / 2; }
constexpr std::uint64_t leaves_of(std::uint64_t depth) {
  std::uint64_t leaves = 1;
  while (depth-- != 0) leaves *= children;
  return leaves;
}

/// Counts in a pool in which no task can wait: the last child goes on here.
template <class Pool> void count(Pool& pool, std::uint64_t first, std::uint64_t leaves, counted_join* end) {
  while (leaves != 1) {
    leaves /= children;
    end = new counted_join{end, children};
    for (std::uint64_t i = 1; i < children; ++i, first += leaves)
      pool.spawn([&pool, first, leaves, end] { count(pool, first, leaves, end); });
  }
  arrive(end, first);
}

template <class Pool> std::uint64_t pass(Pool& pool, std::uint64_t leaves) {
  whole_sum end;
  pool.post([&] { count(pool, 0, leaves, &end); });
  return end.wait();
}

} // namespace corewise::bench::skynet
