#pragma once

#include <cstdint>
#include <functional>

// The engine of this folder is built with COREWISE_FAULTS (engine/src/base/faults.hpp). What goes wrong there:
//
//   delays  one step in COREWISE_DELAY_ONE_IN (environment; none unless set) takes a while: it spins, yields, or sleeps.
//           The seed is printed; COREWISE_DELAY_SEED sets it.
//   wakes   one in so many is dropped, as the test says.
//   memory  for what comes out of an inbox there is none, as long as the test says.
//   mutants COREWISE_MUTANT (environment) makes the engine unsound: printed_volt looks at shared work only when a ring is
//           empty, batched_queue at what full rings have shed.
//
// And the build sees where two threads use at once what is one thread's: it ends the process then, unless a test counts.

namespace corewise::tests {

/// From now on one wake-up in `period` is dropped; 0: none. Any thread.
void drop_wakes(std::uint64_t period) noexcept;
/// So many were dropped since the program began.
std::uint64_t dropped_wakes() noexcept;

/// From now on there is no memory for tasks that come out of an inbox; false: there is again. Any thread.
void refuse_blocks(bool refuse) noexcept;

/// From now on `f` is called between each two steps of the calling thread, where another thread might come; empty: no
/// more.
void at_each_step(std::function<void()> f);
/// From now on such meetings are counted and do not end the process. Any thread.
void count_meetings() noexcept;
/// So many since then.
std::uint64_t meetings() noexcept;

} // namespace corewise::tests
