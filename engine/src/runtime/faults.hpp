#pragma once

// What tests do to an engine from within. With COREWISE_FAULTS, which only the build in tests/faults/ defines, the two
// functions are that test's; in every other build they are nothing.

namespace corewise::detail {

#ifdef COREWISE_FAULTS

/// Stands between two steps of a protocol, where other threads may come between: takes a while now and then.
void interleave() noexcept;

/// Whether the wake-up that is due now gets lost.
[[nodiscard]] bool loses_wake() noexcept;

#else

inline void interleave() noexcept {}
[[nodiscard]] constexpr bool loses_wake() noexcept { return false; }

#endif

} // namespace corewise::detail
