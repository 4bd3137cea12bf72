#pragma once

#include <cstdint>

namespace corewise {
class runtime;
}

namespace corewise::detail {

class worker;

/// What the calling thread is to an engine, if anything.
struct execution {
  runtime* engine = nullptr; ///< whose thread this is
  worker* seat = nullptr;    ///< the seat that the thread sits on; null after it gave it away
  std::uint8_t phase = 0;    ///< the phase of the task that runs
};

inline constinit thread_local execution this_execution{};

} // namespace corewise::detail
