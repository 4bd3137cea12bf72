#pragma once

namespace corewise::bench {

// Callgrind counts for each thread by itself: who begins also ends. Outside of Callgrind these do nothing.

/// The calling thread's instructions count from here on.
void begin_counting() noexcept;
void end_counting() noexcept;

/// Callgrind looks on from here on; before, the program is five times as fast.
void begin_instrumentation() noexcept;
/// Writes what was counted since the last time to a file of its own.
void write_counts() noexcept;

} // namespace corewise::bench
