// When a worker's tick ends: by time, or by its budget of tasks.

#include "held_engine.hpp"
#include "small_engine.hpp"

#include <doctest/doctest.h>

#include <chrono>

using namespace corewise;
using namespace corewise::tests;
using namespace std::chrono_literals;

namespace {

void take(std::chrono::microseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

/// Returns how many ticks one worker needs for this many waiting tasks.
std::uint64_t ticks_of(std::uint32_t tasks, std::chrono::microseconds time, std::uint32_t budget) {
  profile p = packages(1, 1);
  p.queues.budget = budget;
  held_engine e(p);
  e.hold(0);
  const std::uint64_t before = e.counts(0).ticks;
  for (std::uint32_t i = 0; i < tasks; ++i) e.submit_to(0, [&] { take(time); });
  e.release(0);
  e.get().drain();
  return e.counts(0).ticks - before;
}

} // namespace

TEST_CASE("tick: it ends after 500 us, although more tasks wait") {
  CHECK(ticks_of(40, 600us, 512) >= 40);
  CHECK(ticks_of(40, 260us, 512) >= 20);
}

TEST_CASE("tick: it ends after its budget of tasks, also when they are very short") {
  CHECK(ticks_of(512, 0us, 16) >= 32);
  CHECK(ticks_of(512, 0us, 1) >= 512);
}
