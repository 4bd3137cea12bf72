#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

// The product of two square matrices of 32-bit numbers by quarters: four products at the same time, then the
// four that are added to them, down to blocks of 32 x 32. The size is the number of rows, a power of two; an
// operation is the product of two blocks.

namespace corewise::bench::matmul {

constexpr const char* name = "matmul";
constexpr std::uint64_t usual_size = 512;
constexpr std::uint64_t block = 32;

constexpr std::uint64_t blocks(std::uint64_t n) {
  const std::uint64_t side = n <= block ? 1 : n / block;
  return side * side * side;
}

using number = std::uint32_t;

/// A square part of a matrix.
struct part {
  number* at;
  std::uint64_t stride; ///< from row to row

  number* row(std::uint64_t i) const { return at + i * stride; }
  part quarter(std::uint64_t i, std::uint64_t j, std::uint64_t half) const {
    return {row(i * half) + j * half, stride};
  }
};

/// c += a b, of so many rows.
struct product {
  std::uint64_t rows;
  part a;
  part b;
  part c;

  bool is_block() const { return rows <= block; }
  /// Multiplies. A function of its own, so that it is the same code for all contenders: Clang makes no
  /// vectors of it within a coroutine.
  [[gnu::noinline]] void multiply() const {
    for (std::uint64_t i = 0; i < rows; ++i)
      for (std::uint64_t k = 0; k < rows; ++k) add_row(c.row(i), a.row(i)[k], b.row(k));
  }
  /// One of the four products, 0 to 3, of a phase, 0 or 1.
  product quarter(std::uint64_t which, std::uint64_t phase) const {
    const std::uint64_t half = rows / 2;
    const std::uint64_t i = which / 2;
    const std::uint64_t j = which % 2;
    return {half, a.quarter(i, phase, half), b.quarter(phase, j, half), c.quarter(i, j, half)};
  }

 private:
  void add_row(number* __restrict into, number factor, const number* __restrict from) const {
    for (std::uint64_t j = 0; j < rows; ++j) into[j] += factor * from[j];
  }
};

/// Two matrices and their product.
class matrices {
 public:
  explicit matrices(std::uint64_t n) : rows_(n), a_(n * n), b_(n * n), c_(n * n) {
    number x = 1;
    for (number& value : a_) value = x = x * 1664525 + 1013904223;
    for (number& value : b_) value = x = x * 1664525 + 1013904223;
  }

  product whole() { return {rows_, {a_.data(), rows_}, {b_.data(), rows_}, {c_.data(), rows_}}; }

  /// Counts the right rows of the product, by multiplying a vector with it (Freivalds). Makes the product 0
  /// again.
  std::uint64_t take_right_rows() {
    std::vector<number> v(rows_);
    for (std::uint64_t i = 0; i < rows_; ++i) v[i] = static_cast<number>(i * i + 7);
    const std::vector<number> expected = times(a_, times(b_, v));
    const std::vector<number> seen = times(c_, v);
    std::uint64_t right = 0;
    for (std::uint64_t i = 0; i < rows_; ++i) right += seen[i] == expected[i] ? 1 : 0;
    std::ranges::fill(c_, 0);
    return right;
  }

 private:
  std::vector<number> times(const std::vector<number>& m, const std::vector<number>& v) const {
    std::vector<number> result(rows_);
    for (std::uint64_t i = 0; i < rows_; ++i)
      for (std::uint64_t j = 0; j < rows_; ++j) result[i] += m[i * rows_ + j] * v[j];
    return result;
  }

  std::uint64_t rows_;
  std::vector<number> a_;
  std::vector<number> b_;
  std::vector<number> c_;
};

} // namespace corewise::bench::matmul
