#pragma once

#include "recording/recording.hpp"

#include <cstdint>

// Probes for programs that trace a process from outside (bpftrace, perf, SystemTap): `corewise:begun` and so on, one
// for each event. The kernel counts itself in `event_readers` while it is attached to one. Without <sys/sdt.h> there
// are none.

#if __has_include(<sys/sdt.h>)
#define _SDT_HAS_SEMAPHORES 1 // NOLINT(bugprone-reserved-identifier): its name in sdt.h
#include <sys/sdt.h>

// One word for all probes. It is defined in the source that includes this header.
// NOLINTBEGIN(bugprone-macro-parentheses,readability-identifier-naming,misc-definitions-in-headers)
#define COREWISE_COUNTED(name)                                                                               \
  extern "C" std::uint16_t corewise_##name##_semaphore                                                       \
      __attribute__((visibility("hidden"), alias("_ZN8corewise6detail13event_readersE")))
COREWISE_COUNTED(queued);
COREWISE_COUNTED(begun);
COREWISE_COUNTED(ended);
COREWISE_COUNTED(suspended);
COREWISE_COUNTED(stolen);
COREWISE_COUNTED(parked);
COREWISE_COUNTED(woken);
COREWISE_COUNTED(blocking);
COREWISE_COUNTED(unblocked);
COREWISE_COUNTED(polled);
COREWISE_COUNTED(load);
#undef COREWISE_COUNTED
#define COREWISE_PROBE(name)                                                                                 \
  case event_code::name: STAP_PROBE3(corewise, name, value, task, more); break
#else
#define COREWISE_PROBE(name)                                                                                 \
  case event_code::name: break
#endif
// NOLINTEND(bugprone-macro-parentheses,readability-identifier-naming,misc-definitions-in-headers)

namespace corewise::detail {

/// Tells tracers of an event: its value, task, and what more there is about it (`event_code`).
// NOLINTNEXTLINE(readability-function-size): it is one list
inline void probe(event_code what, std::uint32_t value, const void* task, std::uint64_t more) noexcept {
  static_cast<void>(value), static_cast<void>(task), static_cast<void>(more);
  switch (what) {
    COREWISE_PROBE(queued);
    COREWISE_PROBE(begun);
    COREWISE_PROBE(ended);
    COREWISE_PROBE(suspended);
    COREWISE_PROBE(stolen);
    COREWISE_PROBE(parked);
    COREWISE_PROBE(woken);
    COREWISE_PROBE(blocking);
    COREWISE_PROBE(unblocked);
    COREWISE_PROBE(polled);
    COREWISE_PROBE(load);
  case event_code::none:
  case event_code::name:
  case event_code::id: break;
  }
}

#undef COREWISE_PROBE

} // namespace corewise::detail
