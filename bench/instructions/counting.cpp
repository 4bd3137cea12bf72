#include "counting.hpp"

#include <valgrind/callgrind.h>

namespace corewise::bench {

void begin_counting() noexcept { CALLGRIND_TOGGLE_COLLECT; }
void end_counting() noexcept { CALLGRIND_TOGGLE_COLLECT; }
void begin_instrumentation() noexcept { CALLGRIND_START_INSTRUMENTATION; }
void write_counts() noexcept { CALLGRIND_DUMP_STATS; }

} // namespace corewise::bench
