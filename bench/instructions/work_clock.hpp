#pragma once

namespace corewise::bench {

/// Lets an operation's time pass: 100 ns on the clock that the engine reads. Time passes by operations alone:
/// under Callgrind they take fifty times as long as they should, and never as long as the last time, so ticks
/// and averages would differ each time. One thread at a time.
void pass_operation() noexcept;

} // namespace corewise::bench
