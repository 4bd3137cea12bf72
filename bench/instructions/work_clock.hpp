#pragma once

namespace corewise::bench {

/// An operation takes 100 ns on the clock that the engine reads. Time passes by operations alone: under Callgrind they take fifty
/// times as long as they should, and never as long as the last time, so ticks and averages would be others each time. One thread
/// at a time.
void pass_operation() noexcept;

} // namespace corewise::bench
