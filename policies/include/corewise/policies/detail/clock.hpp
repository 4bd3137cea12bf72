#pragma once

#include <chrono>

namespace corewise::detail {

/// The clock of the engine, in headers and sources alike.
using monotonic = std::chrono::steady_clock;

} // namespace corewise::detail
