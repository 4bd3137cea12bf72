#pragma once

#include <cstdint>

namespace corewise {

/// When a worker looks again at shared queues in which it has left tasks behind.
enum class backlog_look : std::uint8_t {
  turn,     ///< when as many tasks have run as wait in its ring
  interval, ///< after the interval, as if nothing were left
};

} // namespace corewise
