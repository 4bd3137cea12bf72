#pragma once

#include "recording/session.hpp"

#include <corewise/engine/trace.hpp>

#include <chrono>

namespace corewise::detail {

/// Returns what a session has copied of its engine's events, from that monotonic time on. Threads and kinds of tasks are
/// named. Cost: for each kind of task that is a coroutine, a search through the symbols of its file. Throws
/// `std::bad_alloc`.
engine_trace decoded(const recording_session& from,
                     std::chrono::nanoseconds since = std::chrono::nanoseconds::min());

} // namespace corewise::detail
