#pragma once

namespace corewise::bench {

// Callgrind counts for each thread by itself: the thread that begins must also end. Outside of Callgrind
// these do nothing.

/// Begins to count the calling thread's instructions.
void begin_counting() noexcept;
void end_counting() noexcept;

/// Lets Callgrind look on from here; before that, the program is five times as fast.
void begin_instrumentation() noexcept;
/// Writes the counts since the last call to a file of its own.
void write_counts() noexcept;

} // namespace corewise::bench
