// Tests of an engine that measures its cores by the tasks that it runs (`topology.measure`). How exactly it does, and
// how soon, tests/policies/measured_speeds_test.cpp tells, with times that no other process disturbs.

#include "small_engine.hpp"
#include "within.hpp"

#include <corewise/engine/sleep.hpp>
#include <corewise/engine/task.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>

using namespace corewise;
using namespace std::chrono_literals;

namespace {

/// Two workers, of which one is on a core that is said to have six tenths of the speed.
profile of_two_kinds(bool measure = true) {
  return parse_profile(std::string(R"(
topology:
  source: {synthetic: "core:2 pu:1"}
  kinds:
    - {cpus: 0, name: P, capacity: 1024}
    - {cpus: 1, name: E, capacity: 614}
  follow: 50ms
  measure: )") + (measure ? "true" : "false") +
                       "\nworkers: {per_group: 1, pin: none}\n");
}

/// Works for that long, on the slow core, which in truth has four tenths of the speed, accordingly longer.
void work(const engine& e, std::chrono::nanoseconds time) {
  const bool slow = e.workers()[*e.this_worker()].group == group_id{1};
  const auto end = std::chrono::steady_clock::now() + (slow ? time * 10 / 4 : time);
  while (std::chrono::steady_clock::now() < end) {
  }
}

std::uint64_t capacity_of_slow(const engine& e) { return e.metrics().workers[1].capacity; }

/// Submits with `submit`, some at a time, until the slow core has less capacity than the machine says, or the time is up.
template <class Submit> bool is_corrected(engine& e, const Submit& submit) {
  return within(120s, [&] {
    for (int i = 0; i < 200; ++i) submit();
    e.drain();
    return capacity_of_slow(e) <= 555; // by two steps
  });
}

} // namespace

TEST_CASE("measured: an engine corrects the capacity of a core by how long tasks take there, and says so") {
  std::string line;
  std::mutex mutex;
  engine_hooks hooks;
  hooks.on_log_record = [&](const log_record& r) {
    const std::scoped_lock lock(mutex);
    if (r.code == log_code::machine_changed) line = r.text;
  };
  engine e(of_two_kinds(), hooks);
  CHECK(capacity_of_slow(e) == 614);
  CHECK(is_corrected(e, [&] { static_cast<void>(e.submit([&] { work(e, 300us); })); }));
  CHECK(within(10s, [&] { // it is in force before it is told
    const std::scoped_lock lock(mutex);
    return !line.empty();
  }));
  {
    const std::scoped_lock lock(mutex);
    CHECK(line.starts_with("like tasks take other times than the capacities of cores say: group 1 at "));
    CHECK(line.ends_with("of its capacity; still 2 workers take tasks"));
  }
  CHECK(e.metrics().machine_changes > 0);
  CHECK(e.apply(of_two_kinds()).applied()); // a reload forgets nothing
  CHECK(capacity_of_slow(e) <= 585);
  CHECK_FALSE(e.apply(of_two_kinds(false)).applied()); // that needs a restart
}

TEST_CASE("measured: the first part of coroutines of one function is compared, of others nothing") {
  engine e(of_two_kinds());
  const auto once = [](engine& on) -> task<> {
    work(on, 300us);
    co_await sleep_for(1us);
    work(on, on.workers()[*on.this_worker()].group == group_id{1} ? 1us : 900us); // is not alike
  };
  CHECK(is_corrected(e, [&] { static_cast<void>(e.submit(once(e))); }));
}

TEST_CASE("measured: an engine that is not asked to measures nothing") {
  engine e(of_two_kinds(false));
  for (int i = 0; i < 2'000; ++i) static_cast<void>(e.submit([&] { work(e, 300us); }));
  e.drain();
  std::this_thread::sleep_for(50ms);
  CHECK(capacity_of_slow(e) == 614);
  CHECK(e.metrics().machine_changes == 0);
}

TEST_CASE("measured: it needs looks at the host") {
  CHECK_THROWS_WITH_AS(parse_profile("topology: {measure: true, follow: off}"),
                       doctest::Contains("corrects the capacities"), profile_error);
}
