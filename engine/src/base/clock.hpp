#pragma once

#include <corewise/policies/detail/clock.hpp>

#include <sched.h>

#include <chrono>
#include <thread>

// The engine's clock (`monotonic`), and the ways in which it waits that are no futex (futex.hpp) and no lock (detail/lock.hpp).

namespace corewise::detail {

/// A thread of the engine.
using thread = std::thread;

/// Sleeps for that time, or a little longer.
inline void sleep_for(std::chrono::nanoseconds time) { std::this_thread::sleep_for(time); }

/// Offers the CPU to other threads.
inline void offer_cpu() noexcept { ::sched_yield(); }

} // namespace corewise::detail
