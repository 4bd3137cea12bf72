// The worker's knowledge of the time that tasks take, and how often it looks at the clock.

#include "runtime/runtime.hpp"
#include "small_engine.hpp"

#include <corewise/engine/yield.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <thread>

using namespace corewise;

namespace {

/// Returns a profile whose one worker sleeps until it is woken, so that parks and wakes tell whether it
/// sleeps.
profile sleepy_profile() {
  profile p = small_profile(1);
  p.idle.park_timeout.kind = park_timeout_setting::mode::never;
  return p;
}

/// Waits until all is done and the engine's one worker sleeps: then it has noted how long its tasks took.
void wait_until_asleep(engine& e) {
  e.drain();
  for (;;) {
    const worker_metrics all = e.metrics().total();
    if (all.parks - all.wakes == 1) return;
    std::this_thread::yield();
  }
}

/// Notes for the group that tasks take this long. Then calls `look` in a task of the worker.
template <class Look> void look_after_note(engine& e, std::uint64_t group_ns, const Look& look) {
  runtime& inside = inside_of(e);
  wait_until_asleep(e);
  inside.board(first_group).task_time_ns.store(group_ns, std::memory_order_relaxed);
  REQUIRE(e.submit([&] { look(*detail::this_execution.seat); }) == submit_result::accepted);
  wait_until_asleep(e);
}

} // namespace

TEST_CASE(
    "task time: a worker assumes that its submitted tasks are as short as its group's, and keeps them") {
  constexpr std::uint64_t short_ns = 100; // its own average falls from 50 us, by at most a tenth in a tick
  engine e(sleepy_profile());
  std::uint64_t seen_ns = 0;
  bool keeps = false;
  look_after_note(e, short_ns, [&](detail::worker& seat) {
    seen_ns = seat.task_time_ns();
    for (int i = 0; i < 100; ++i) // more than a worker keeps of longer tasks without asking the policy
      if (e.submit([] {}) != submit_result::accepted) std::abort();
    keeps = seat.keeps_submitted();
  });
  CHECK(seen_ns == short_ns);
  CHECK(keeps);
}

TEST_CASE(
    "task time: a worker whose own tasks are shorter uses their average, and publishes it to its group") {
  constexpr std::uint64_t hours = 3'600'000'000'000;
  engine e(sleepy_profile());
  std::uint64_t seen_ns = hours;
  look_after_note(e, hours, [&](const detail::worker& seat) { seen_ns = seat.task_time_ns(); });
  CHECK(seen_ns < hours);
  CHECK(inside_of(e).board(first_group).mean_task_time_ns() < hours);
}

// A worker shows its load at each look at the clock; while tasks are short, it does not show it in between.
// The coroutine publishes a wrong level, and counts its turns until the level is right again.

TEST_CASE("task time: a worker looks at the clock after at most 128 tasks, also when they are very short") {
  constexpr int most = 128;
  constexpr std::uint8_t wrong = 200;
  engine e(small_profile(1));
  int longest = 0; // only the worker writes it
  const auto count_turns = [](load_levels& shown, int& longest_row) -> task<> {
    int row = 1;
    for (int turns = 0; turns < 200'000; ++turns) {
      if (shown.at(0) != wrong) {
        shown.publish(0, wrong);
        row = 0;
      }
      longest_row = std::max(longest_row, ++row);
      co_await yield();
    }
  };
  load_levels& shown = inside_of(e).board(first_group).levels;
  REQUIRE(e.submit(count_turns(shown, longest)) == submit_result::accepted);
  e.drain();
  MESSAGE("at most " << longest << " tasks between two looks");
  CHECK(longest <= most);
}
