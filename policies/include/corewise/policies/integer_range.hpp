#pragma once

#include <cstdint>

namespace corewise {

/// From the least to the most, both included.
struct integer_range {
  std::uint32_t min = 0;
  std::uint32_t max = 0; ///< equal to `min` when the profile says `fixed`
};

} // namespace corewise
