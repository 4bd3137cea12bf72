#pragma once

#include <corewise/engine/profile.hpp>

#include <cstdlib>
#include <cstring>

namespace corewise::tests {

/// Returns whether COREWISE_PARK_TIMEOUT=never asks that no sleeper wakes up by itself. Then a test hangs if
/// a wake-up is lost.
inline bool never_times_out() {
  const char* timeout = std::getenv("COREWISE_PARK_TIMEOUT");
  return timeout != nullptr && std::strcmp(timeout, "never") == 0;
}

/// Returns the profile with its own time-out, or with none.
inline profile with_park_timeout(profile p) {
  if (never_times_out()) p.idle.park_timeout.kind = park_timeout_setting::mode::never;
  return p;
}

} // namespace corewise::tests
