#pragma once

#include <cstdint>

namespace corewise {

/// The first time that a simulation does not reach: 146 years.
inline constexpr std::int64_t latest_time_ns = std::int64_t{1} << 62;

} // namespace corewise
