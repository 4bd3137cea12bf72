#pragma once

#include <cstdint>
#include <functional>

// The engine of this folder is built with COREWISE_FAULTS (engine/src/base/faults.hpp). Its faults are:
//
//   delays  one step in COREWISE_DELAY_ONE_IN (environment; none unless set) takes a while: it spins, yields,
//           or sleeps. The program prints the seed; COREWISE_DELAY_SEED sets it.
//   wakes   one wake-up in so many is dropped, as the test says.
//   memory  there is none for tasks that come out of an inbox, as long as the test says.
//
// The build also detects a meeting: two threads use data of one thread at the same time. A meeting ends the
// process, unless a test counts meetings.

namespace corewise::tests {

/// Drops one wake-up in `period` from now on; 0 drops none. Call from any thread.
void drop_wakes(std::uint64_t period) noexcept;
/// Returns how many wake-ups were dropped since the program began.
std::uint64_t dropped_wakes() noexcept;

/// Refuses memory for tasks that come out of an inbox from now on; false ends that. Call from any thread.
void refuse_blocks(bool refuse) noexcept;

/// Says whether engines get no thread for a supervisor from now on.
void refuse_supervisor(bool refuse) noexcept;

/// Calls `f` from now on between each two steps of the calling thread, where another thread might come; an
/// empty function ends that.
void at_each_step(std::function<void()> f);
/// Counts meetings from now on, and no longer ends the process. Call from any thread.
void count_meetings() noexcept;
/// Returns the number of meetings since then.
std::uint64_t meetings() noexcept;

} // namespace corewise::tests
