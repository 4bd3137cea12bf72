#pragma once

#include <cstdint>

namespace corewise {

/// Where `nearest_half` begins to look.
enum class steal_start : std::uint8_t {
  nearest, ///< near the thief
  random,  ///< anywhere: distance does not matter, as in `random_half`
};

} // namespace corewise
