#pragma once

#include <pools/counted_join.hpp>

#include <array>
#include <cstdint>
#include <cstdlib>

// How many ways there are to place n queens on n x n squares so that none attacks another: row by row, with a
// fork for each place in the next row that no queen attacks. The size is n, at most 16; an operation is a
// board that was looked at.

namespace corewise::bench::nqueens {

constexpr const char* name = "nqueens";
constexpr std::uint64_t usual_size = 11;
constexpr std::uint64_t size_max = 16;

/// The columns of the queens, row by row.
struct board {
  std::array<std::uint8_t, size_max> column{};
  std::uint8_t rows = 0;

  bool is_free(std::uint64_t place) const {
    for (int row = 0; row < rows; ++row) {
      const int apart = static_cast<int>(place) - column[static_cast<std::size_t>(row)];
      if (apart == 0 || std::abs(apart) == rows - row) return false;
    }
    return true;
  }
  board with(std::uint64_t place) const {
    board next = *this;
    next.column[next.rows++] = static_cast<std::uint8_t>(place);
    return next;
  }
};

/// Calls `f(board)` for each board with one queen more.
template <class F> void each_next(const board& b, std::uint64_t n, F&& f) {
  for (std::uint64_t place = 0; place < n; ++place)
    if (b.is_free(place)) f(b.with(place));
}

/// Boards with up to n queens, and those with n, found one after the other.
struct found {
  std::uint64_t boards = 0;
  std::uint64_t solutions = 0;
};
inline void search(const board& b, std::uint64_t n, found& all) {
  ++all.boards;
  if (b.rows == n)
    ++all.solutions;
  else
    each_next(b, n, [&](const board& next) { search(next, n, all); });
}
inline found search(std::uint64_t n) {
  found all;
  search(board{}, n, all);
  return all;
}

/// Counts in a pool in which no task can wait.
template <class Pool> void count(Pool& pool, const board& b, std::uint64_t n, counted_join* end) {
  if (b.rows == n) return arrive(end, 1);
  std::uint32_t children = 0;
  each_next(b, n, [&](const board&) { ++children; });
  if (children == 0) return arrive(end, 0);
  auto* const join = new counted_join{end, children};
  each_next(b, n,
            [&](const board& next) { pool.spawn([&pool, next, n, join] { count(pool, next, n, join); }); });
}

template <class Pool> std::uint64_t pass(Pool& pool, std::uint64_t n) {
  whole_sum end;
  pool.post([&] { count(pool, board{}, n, &end); });
  return end.wait();
}

} // namespace corewise::bench::nqueens
