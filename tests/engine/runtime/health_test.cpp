#include "small_engine.hpp"

#include <corewise/engine/health.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <functional>
#include <thread>

using namespace corewise;
using namespace std::chrono_literals;

namespace {

profile watched(std::uint32_t workers) {
  profile p = small_profile(workers);
  p.blocking.stuck_after = 20ms;
  p.blocking.spares_max = 0;
  return p;
}

/// Waits until the engine is in that state, and returns the report.
health_report becomes(const engine& e, health_state wanted) {
  for (;;) {
    health_report seen = e.health();
    if (seen.state == wanted) return seen;
    std::this_thread::sleep_for(1ms);
  }
}

} // namespace

TEST_CASE("health: an engine at rest and one that works are in order") {
  profile p = watched(2);
  p.blocking.stuck_after = 1s; // on a busy machine 20 ms pass for nothing
  engine e(p);
  CHECK(e.health().ok());
  for (int i = 0; i < 100; ++i) {
    CHECK(e.submit([] { std::this_thread::sleep_for(1ms); }) == submit_result::accepted);
    CHECK(e.health().ok());
  }
  e.drain();
  CHECK(e.health().ok());
  CHECK(e.health().why.empty());
}

TEST_CASE("health: degraded while some workers stand, wedged while all do and tasks wait, and well again") {
  gate first;
  gate second;
  engine e(watched(2));
  CHECK(e.submit([&] { first.pass(); }) == submit_result::accepted);
  first.wait_for(1);
  const health_report one = becomes(e, health_state::degraded);
  REQUIRE(one.why.size() == 1);
  CHECK(one.why.front() == "1 of 2 workers run tasks that do not end (`blocking.stuck_after`)");
  CHECK(e.submit([&] { second.pass(); }) == submit_result::accepted);
  second.wait_for(1);
  std::this_thread::sleep_for(100ms);
  CHECK(e.health().state == health_state::degraded); // nothing waits
  CHECK(e.submit([] {}) == submit_result::accepted);
  CHECK(becomes(e, health_state::wedged).why.front().starts_with("2 of 2 workers"));
  second.open();
  becomes(e, health_state::degraded);
  first.open();
  becomes(e, health_state::ok);
  e.drain();
}

TEST_CASE("health: wedged while all workers want a spare thread and tasks wait") {
  gate held;
  engine e(watched(2));
  for (int i = 0; i < 2; ++i)
    CHECK(e.submit([&] { blocking([&] { held.pass(); }); }) == submit_result::accepted);
  held.wait_for(2);
  becomes(e, health_state::ok); // a call that blocks may take long
  CHECK(e.submit([] {}) == submit_result::accepted);
  const health_report seen = becomes(e, health_state::wedged);
  REQUIRE(seen.why.size() == 1);
  CHECK(seen.why.front() == "2 of 2 workers are in blocking calls, and there is no spare thread for them");
  held.open();
  e.drain();
  becomes(e, health_state::ok);
}

TEST_CASE("health: an engine that was shut down has ended") {
  engine e(watched(1));
  CHECK(e.shutdown(1s).clean());
  CHECK(e.health().state == health_state::ended);
  CHECK(to_string(e.health().state) == "ended");
}

TEST_CASE("health: without a limit for tasks no worker counts as stuck, also one that stood before") {
  gate first;
  engine e(watched(2));
  CHECK(e.submit([&] { first.pass(); }) == submit_result::accepted);
  becomes(e, health_state::degraded);
  CHECK(e.metrics().total().standing == 1);
  profile without = watched(2);
  without.blocking.stuck_after.reset();
  CHECK(e.apply(without).applied());
  CHECK(e.health().ok());
  CHECK(e.metrics().total().standing == 0);
  first.open();
}

TEST_CASE("health: an engine short of spare threads whose tasks go on is not wedged") {
  profile p = watched(2);
  p.blocking.spares_max = 0;
  std::atomic<int> ended{0};
  std::function<void()> call;
  engine e(p);
  call = [&] {
    blocking([] { std::this_thread::sleep_for(150ms); });
    if (++ended < 16) CHECK(e.submit(call) == submit_result::accepted);
  };
  for (int i = 0; i < 8; ++i) CHECK(e.submit(call) == submit_result::accepted);
  bool was_degraded = false;
  while (ended < 16) {
    const health_state now = e.health().state;
    CHECK(now != health_state::wedged);
    was_degraded = was_degraded || now == health_state::degraded;
    std::this_thread::sleep_for(1ms);
  }
  e.drain();
  CHECK(was_degraded);
}
