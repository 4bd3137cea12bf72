#pragma once

#include "small_engine.hpp"

#include <corewise/engine/engine.hpp>
#include <corewise/engine/sleep.hpp>

#include <thread>

// Coroutines that sleep and are counted, and waits for these counts.

namespace corewise::tests {

using clock_type = std::chrono::steady_clock;

inline task<> sleep_and_count(std::chrono::nanoseconds d, std::atomic<int>& done, std::atomic<int>& early) {
  const auto begin = clock_type::now();
  co_await sleep_for(d);
  if (clock_type::now() < begin + d) ++early;
  ++done;
}

inline task<> sleep_until_stopped(std::stop_token token, std::atomic<int>& came, std::atomic<int>& stopped) {
  // Not in the condition of the `if`: GCC 12 loses the body of some such coroutines.
  const bool in_time = co_await sleep_for(std::chrono::hours{24}, std::move(token));
  ++(in_time ? came : stopped);
}

inline void wait_for(const std::atomic<int>& n, int least) {
  for (int now = n.load(); now < least; now = n.load()) n.wait(now);
}

/// Waits until this many timers are set.
inline void wait_for_pending(const engine& e, std::uint64_t timers) {
  while (e.metrics().timers_pending != timers) std::this_thread::yield();
}

} // namespace corewise::tests
