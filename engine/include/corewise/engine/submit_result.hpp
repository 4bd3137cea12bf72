#pragma once

#include <cstdint>

namespace corewise {

/// The result of a submission. A task that was not accepted was destroyed without having run.
enum class [[nodiscard]] submit_result : std::uint8_t {
  accepted,
  full,     ///< `limits.in_flight` tasks are in flight already
  stopping, ///< the engine shuts down, or this is the child of a process fork
};

} // namespace corewise
