#pragma once

#include "calibration.hpp"

#include <cstdint>

namespace corewise::command {

/// Three loops that tell cores apart, each of some hundred microseconds: arithmetic on whole numbers,
/// following pointers through memory of a size that no first-level cache has, and sorting, whose branches no
/// core can foresee.
class kernels {
 public:
  kernels();

  /// Runs the loop of that number in `kernel_names`. Returns the ns of a step.
  double run(std::size_t kernel);

 private:
  std::uint64_t integer_steps();
  std::uint64_t memory_steps();
  std::uint64_t branchy_steps();

  std::vector<std::uint32_t> next_;    ///< a cycle through all cells, each on a line of its own
  std::vector<std::uint32_t> numbers_; ///< at random
  std::vector<std::uint32_t> sorted_;
  volatile std::uint64_t result_ = 0; ///< keeps the compiler from leaving the loops out
};

} // namespace corewise::command
