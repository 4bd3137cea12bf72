#pragma once

#include "small_engine.hpp"

namespace corewise::tests {

/// A profile for so many workers, with so many blocking calls at once.
inline profile limited_calls(std::uint32_t workers, std::uint32_t calls) {
  profile p = small_profile(workers);
  p.blocking.max_concurrent = calls;
  return p;
}

} // namespace corewise::tests
