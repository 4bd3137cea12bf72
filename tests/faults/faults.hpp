#pragma once

#include <cstdint>

// The engine of this folder is built with COREWISE_FAULTS (engine/src/runtime/faults.hpp). What goes wrong there:
//
//   delays  one step in COREWISE_DELAY_ONE_IN (environment; none unless set) takes a while: it spins, yields, or sleeps.
//           The seed is printed; COREWISE_DELAY_SEED sets it.
//   wakes   one in so many is dropped, as the test says.

namespace corewise::tests {

/// From now on one wake-up in `period` is dropped; 0: none. Any thread.
void drop_wakes(std::uint64_t period) noexcept;
/// So many were dropped since the program began.
std::uint64_t dropped_wakes() noexcept;

} // namespace corewise::tests
